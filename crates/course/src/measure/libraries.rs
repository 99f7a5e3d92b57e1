//! NVIDIA's CUB, from up to four libraries: the toolkit's headers and newer ones, each plain and with launches that overlap.

use std::collections::BTreeMap;

use anyhow::Result;
use device::{Baseline, Device, Segments};
use lab::element::Element;
use lab::measurement::{
    CUB, CUB_FIXED, CUB_NEWER, CUB_NEWER_FIXED, CUB_REPRODUCIBLE, CUB_UNORDERED, CUB_WHOLE, Contest, Library,
};
use lab::{Layout, Offsets, Op};

use super::Options;
use super::bench::Entrant;

/// The chapter whose kernel stands against the libraries.
pub const CONTEST: &str = "ch08-cooperative";

/// The libraries that could be opened.
#[derive(Default)]
pub struct Libraries {
    open: Vec<(Contest, &'static str, Baseline)>,
}

impl Libraries {
    /// Opens what the options name; the second part reports what cannot be opened.
    pub fn open(options: &Options) -> (Libraries, Vec<String>) {
        let named = [
            (Contest::Alone, CUB, "--cub", &options.cub),
            (Contest::BackToBack, CUB, "--cub-overlap", &options.cub_overlap),
            (Contest::Alone, CUB_NEWER, "--cub-newer", &options.cub_newer),
            (Contest::BackToBack, CUB_NEWER, "--cub-newer-overlap", &options.cub_newer_overlap),
        ];
        let (mut libraries, mut problems) = (Libraries::default(), Vec::new());
        for (contest, name, option, path) in named {
            let Some(path) = path else { continue };
            match Baseline::open(path) {
                Ok(library) => libraries.open.push((contest, name, library)),
                Err(error) => problems.push(format!(
                    "{option} {}: it cannot be used; scripts/cub_library.sh makes such a library: {:#}",
                    path.display(),
                    anyhow::Error::from(error)
                )),
            }
        }
        (libraries, problems)
    }

    /// Their versions by the name in the record.
    pub fn versions(&self) -> BTreeMap<String, Library> {
        let version = |(_, name, library): &(Contest, &str, Baseline)| {
            ((*name).to_owned(), Library { version: library.version().to_owned() })
        };
        self.open.iter().map(version).collect()
    }

    /// Their sums of `n` elements by the rules of a contest.
    ///
    /// # Errors
    /// A size that a library refuses, memory that does not suffice.
    pub fn entrants<T: Element>(&self, device: &Device, contest: Contest, n: u64) -> Result<Vec<Entrant<'_, T>>> {
        let mut entrants = Vec::new();
        for (_, name, library) in self.open.iter().filter(|(of, ..)| *of == contest) {
            entrants.push(Entrant::library(contest, name, CONTEST, library.sum::<T>(device, n)?));
        }
        // The newest that has such a mode.
        let mut newest =
            self.open.iter().rev().filter(|(of, _, library)| *of == contest && library.has_unordered::<T>());
        if let Some((_, _, library)) = newest.next() {
            entrants.push(Entrant::library(contest, CUB_UNORDERED, CONTEST, library.unordered::<T>(device, n)?));
        }
        Ok(entrants)
    }

    /// Their reductions of `n` elements by `op`, alone, for a chapter's contest; one that has no such function is left out.
    pub fn reductions<T: Element>(&self, device: &Device, chapter: &str, op: Op, n: u64) -> Vec<Entrant<'_, T>> {
        let mut entrants = Vec::new();
        for (contest, name, library) in self.open.iter().filter(|(contest, ..)| *contest == Contest::Alone) {
            if let Ok(reduction) = library.reduction::<T>(device, op.name(), n) {
                entrants.push(Entrant::library(*contest, name, chapter, reduction).computing(op));
            }
        }
        // The newest that has a sum with the same bits on every card.
        let alone = self.open.iter().rev().filter(|(contest, ..)| op == Op::Sum && *contest == Contest::Alone);
        let sums = alone.filter_map(|(.., library)| library.reproducible::<T>(device, n).ok());
        entrants.extend(sums.take(1).map(|sum| Entrant::library(Contest::Alone, CUB_REPRODUCIBLE, chapter, sum)));
        entrants
    }

    /// Their reductions of the rows of a layout by `op`, alone: by offsets, and of one length by the form for that; none of
    /// columns. One that has no such function is left out.
    pub fn segments<T: Element>(&self, device: &Device, chapter: &str, op: Op, layout: &Layout) -> Vec<Entrant<'_, T>> {
        let (offsets, length) = match layout {
            Layout::Rows(matrix) if matrix.pitch == matrix.cols => {
                (Offsets::even(matrix.rows, matrix.cols), Some(matrix.cols))
            }
            Layout::Ragged(offsets) => (*offsets, None),
            _ => return Vec::new(),
        };
        let Ok(at) = offsets.all().map(u32::try_from).collect::<Result<Vec<u32>, _>>() else { return Vec::new() };
        let (count, n) = (offsets.rows(), offsets.at(offsets.rows()));
        let results = T::TYPE.holding(count * op.row_bytes(T::TYPE));
        let mut entrants = Vec::new();
        for (contest, name, library) in self.open.iter().filter(|(contest, ..)| *contest == Contest::Alone) {
            let fixed = if *name == CUB { CUB_FIXED } else { CUB_NEWER_FIXED };
            let by_offsets = Segments { count, length: 0, offsets: &at, n, results };
            let of_length = length.map(|length| Segments { length, offsets: &[], ..by_offsets });
            let forms = [Some(("offsets", *name, by_offsets)), of_length.map(|segments| ("fixed", fixed, segments))];
            for (form, name, segments) in forms.into_iter().flatten() {
                if let Ok(reduction) = library.segments::<T>(device, (form, op.name()), &segments) {
                    entrants.push(Entrant::library(*contest, name, chapter, reduction).computing(op).over(*layout));
                }
            }
        }
        entrants
    }

    /// The toolkit's sum with a query, an allocation and a release in each call; none without that library.
    ///
    /// # Errors
    /// Those of [`Libraries::entrants`].
    pub fn whole<T: Element>(&self, device: &Device, n: u64) -> Result<Option<Entrant<'_, T>>> {
        let Some((contest, _, library)) = self.open.iter().find(|(of, name, _)| (*of, *name) == (Contest::Alone, CUB))
        else {
            return Ok(None);
        };
        Ok(Some(Entrant::library(*contest, CUB_WHOLE, CONTEST, library.whole::<T>(device, n)?)))
    }
}
