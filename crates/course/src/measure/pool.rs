//! The numbers of one type, on the host once and on the GPU often enough that each reduction of a graph reads its own.

use std::collections::HashMap;
#[cfg(test)]
use std::ops::Range;

use anyhow::Result;
use device::{Buffer, Device};
use lab::element::Element;
use lab::reference::{Reference, reference_of_slice};
use lab::{Array, Op, clock, input};

use super::bench::SECOND_ALIGNMENT;
use crate::cores;

/// Elements that are there beyond the largest size: for shifted and ragged inputs.
const SPARE: u64 = 8192;
/// Slices begin at multiples of this many elements, before they are shifted: an aligned address for every type.
const ALIGNMENT: u64 = 64;

/// Random numbers in several arrays of the same contents.
pub struct Pool<T> {
    values: Vec<T>,
    arrays: Vec<Buffer<T>>,
    /// For kernels that destroy their input.
    scratch: Option<Buffer<T>>,
}

/// Range that one reduction reads.
pub type Slice<'p, T> = (&'p Buffer<T>, usize);

impl<T: Element> Pool<T> {
    /// Fills the device with as many arrays of `n_max` elements as a graph of that size reads.
    ///
    /// # Errors
    /// Memory that does not suffice for one of them.
    pub fn new(device: &Device, n_max: u64) -> Result<Pool<T>> {
        let len = (n_max + SPARE).next_multiple_of(ALIGNMENT);
        Pool::of(device, n_max, input::elements(len as usize, input::SEED))
    }

    /// Pool of these numbers, which are [`SPARE`] more than `n_max`.
    ///
    /// # Errors
    /// Those of [`Pool::new`].
    pub fn of(device: &Device, n_max: u64, values: Vec<T>) -> Result<Pool<T>> {
        let first = device.upload("in", &values)?;
        let needed = clock::copies(device, n_max * T::BYTES as u64);
        let mut arrays = vec![first];
        while arrays.len() < needed {
            match device.duplicate(&arrays[0]) {
                Ok(array) => arrays.push(array),
                Err(device::Error::OutOfMemory { .. }) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Pool { values, arrays, scratch: None })
    }

    /// The numbers that a slice of `n` elements holds which is the first of its array.
    #[cfg(test)]
    pub fn first(&self, n: u64, offset: usize) -> &[T] {
        &self.values[range(n, offset)]
    }

    /// The numbers of each array.
    pub fn all(&self) -> &[T] {
        &self.values
    }

    /// Slices of `n` elements, as many as a cold graph reads, `offset` elements after an aligned address. The first one
    /// holds [`Pool::first`].
    pub fn slices(&self, device: &Device, n: u64, offset: usize) -> Vec<Slice<'_, T>> {
        slices(&self.arrays, clock::copies(device, n * T::BYTES as u64), n, offset)
    }

    /// The sum of each slice of [`Pool::slices`].
    pub fn references(&self, slices: &[Slice<'_, T>], n: u64) -> Vec<Reference> {
        let mut known: HashMap<usize, Reference> = HashMap::new();
        let of_start = |start: usize| reference_of_slice(&self.values[start..start + n as usize]);
        slices.iter().map(|&(_, start)| *known.entry(start).or_insert_with(|| of_start(start))).collect()
    }

    /// Results of `op` over each of these slices of `n` elements, as `reference` has them, computed by all cores.
    pub fn references_for(
        &self,
        op: Op,
        slices: &[Slice<'_, T>],
        n: u64,
        reference: impl Fn(Op, &Array) -> Reference + Sync,
    ) -> Vec<Reference> {
        let part = |start: usize| {
            if op.arrays() == 2 {
                let second = start + (n as usize).next_multiple_of(SECOND_ALIGNMENT);
                let both = [&self.values[start..start + n as usize], &self.values[second..second + n as usize]];
                return reference(op, &T::array(both.concat()));
            }
            reference(op, &T::array(self.values[start..start + n as usize].to_vec()))
        };
        let mut starts: Vec<usize> = slices.iter().map(|&(_, start)| start).collect();
        starts.sort_unstable();
        starts.dedup();
        let known: HashMap<usize, Reference> =
            cores::each(&starts, |&start| (start, part(start))).into_iter().collect();
        slices.iter().filter_map(|(_, start)| known.get(start).copied()).collect()
    }

    /// Makes an array for kernels that destroy their input of `n` elements: as long as what all reductions of a graph read,
    /// and no longer than the first array, from whose beginning it is restored.
    ///
    /// # Errors
    /// Memory that does not suffice.
    pub fn make_scratch(&mut self, device: &Device, n: u64, offset: usize) -> Result<()> {
        let copies = clock::copies(device, n * T::BYTES as u64);
        let needed = ((copies as u64 * stride(n, offset)) as usize).min(self.arrays[0].len());
        if self.scratch.as_ref().is_none_or(|scratch| scratch.len() != needed) {
            self.scratch = None; // given back before more is asked for
            self.scratch = Some(device.alloc::<T>("in place", needed)?);
        }
        Ok(())
    }

    /// Slices of that array, at the places of [`Pool::slices`]; what it is restored from, and itself.
    pub fn slices_to_destroy(
        &self,
        device: &Device,
        n: u64,
        offset: usize,
    ) -> (Vec<Slice<'_, T>>, Option<Pair<'_, T>>) {
        let Some(scratch) = &self.scratch else { return (Vec::new(), None) };
        let copies = clock::copies(device, n * T::BYTES as u64);
        (slices(std::slice::from_ref(scratch), copies, n, offset), Some((&self.arrays[0], scratch)))
    }
}

/// An array and its copy.
pub type Pair<'p, T> = (&'p Buffer<T>, &'p Buffer<T>);

#[cfg(test)]
fn range(n: u64, offset: usize) -> Range<usize> {
    offset..offset + n as usize
}

/// Elements from one slice to the next.
fn stride(n: u64, offset: usize) -> u64 {
    (n + offset as u64).next_multiple_of(ALIGNMENT)
}

fn slices<T: Element>(arrays: &[Buffer<T>], count: usize, n: u64, offset: usize) -> Vec<Slice<'_, T>> {
    let stride = stride(n, offset) as usize;
    let of_array = |array| {
        (0..)
            .map(move |i| (array, i * stride + offset))
            .take_while(move |&(array, start): &Slice<'_, T>| start + n as usize <= array.len())
    };
    arrays.iter().flat_map(of_array).take(count).collect()
}

#[cfg(test)]
mod tests {
    use device::{Choice, SimOptions};

    use super::*;

    #[test]
    fn no_two_reductions_read_the_same_numbers() {
        let device = Device::open(Choice::Sim, SimOptions::default()).unwrap();
        let mut pool = Pool::<i32>::new(&device, 1 << 12).unwrap();
        for (n, offset) in [(1 << 4, 0), (1000, 3), (1 << 11, 1), ((1 << 12) + 1, 0), (1 << 12, 3)] {
            let slices = pool.slices(&device, n, offset);
            assert!(slices.len() >= clock::CALLS_MIN as usize, "n = {n}: {}", slices.len());
            let begin = |&(array, start): &Slice<'_, i32>| (std::ptr::from_ref(array), start);
            for (i, one) in slices.iter().enumerate() {
                assert_eq!(one.1 % 64, offset);
                assert!(one.1 + n as usize <= one.0.len());
                for other in &slices[i + 1..] {
                    assert!(begin(one).0 != begin(other).0 || one.1.abs_diff(other.1) >= n as usize, "n = {n}");
                }
            }
            let (array, start) = slices[0];
            let there = &device.download(array).unwrap()[start..start + n as usize];
            assert_eq!(there, pool.first(n, offset));
            let starts: Vec<usize> = slices.iter().map(|slice| slice.1).collect();
            let references = pool.references(&slices, n);
            let of_last = reference_of_slice(&pool.values[starts[starts.len() - 1]..][..n as usize]);
            assert_eq!(references[references.len() - 1].expected.bits(), of_last.expected.bits());
            pool.make_scratch(&device, n, offset).unwrap();
            let (to_destroy, pair) = pool.slices_to_destroy(&device, n, offset);
            let (from, to) = pair.unwrap();
            assert!(to.len() <= from.len() && !to_destroy.is_empty());
            assert!(to_destroy.iter().zip(&starts).all(|(slice, &start)| slice.1 == start), "judged by the same sums");
        }
    }
}
