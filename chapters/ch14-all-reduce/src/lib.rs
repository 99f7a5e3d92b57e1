//! Chapter 14, all-reduce: each of several devices has an array, and each gets the sum of all of them, by five routes over the links
//! between the devices. Four kernels are wrong.

mod calls;
mod cli;
mod json;
mod judge;
mod program;
mod show;
mod tried;

use reduction::{Group, Route};

pub use calls::{Once, call_once};
pub use program::execute;

/// The slug.
pub const SLUG: &str = "ch14-all-reduce";
/// The title.
pub const TITLE: &str = "One sum over several GPUs";

/// Calls in a row, none of which waits for the end of the one before on other devices: both halves of the staging array are used
/// twice, and a rank may be a call ahead of its peers.
pub const CALLS: usize = 4;

/// One way to reduce arrays over several devices.
#[derive(Debug)]
pub struct Variant {
    /// `one_shot_pull`; its kernels are `one_shot_pull_f32`, `one_shot_pull_maximum_bf16` and so on.
    pub name: &'static str,
    /// Idea, one sentence.
    pub idea: &'static str,
    /// Limit, one sentence.
    pub limit: &'static str,
    /// The way of the data. A wrong kernel is launched as the right one that it is made from.
    pub route: Route,
    /// What shows that it is wrong; `None` for a kernel that is right.
    pub announced: Option<Announced>,
}

impl Variant {
    /// The kernel's entry in the PTX.
    pub fn kernel(&self, group: &Group) -> String {
        match self.announced {
            None => group.kernel(self.route),
            Some(_) => format!("{}_{}", self.name, group.ty()),
        }
    }
}

/// What shows that a kernel is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Announced {
    /// A race between two devices, which the simulator finds.
    Race,
    /// Last digits that are not those of the order of ranks. No check finds a fault.
    OtherBits,
}

impl Announced {
    /// Name in JSON and in the text: the fault's code, or `other-bits`.
    pub fn name(self) -> &'static str {
        match self {
            Announced::Race => lab::Code::GlobalRace.name(),
            Announced::OtherBits => "other-bits",
        }
    }
}

/// A wrong kernel, made from the first right one, of sums of floats alone.
const WRONG: Variant =
    Variant { name: "", idea: "", limit: "", route: Route::OneShotPull, announced: Some(Announced::Race) };

/// The kernels, in the order of the lesson.
pub const VARIANTS: &[Variant] = &[
    Variant {
        name: "one_shot_pull",
        idea: "each rank leaves its array in its own memory, sets a flag at each peer, and reads the arrays of all",
        limit: "each read waits for its answer to cross the link, and each rank gets R - 1 whole arrays",
        route: Route::OneShotPull,
        announced: None,
    },
    Variant {
        name: "one_shot_push",
        idea: "each rank writes its array into the memory of all peers, and waits for no answer",
        limit: "each rank still gets R - 1 whole arrays",
        route: Route::OneShotPush,
        announced: None,
    },
    Variant {
        name: "two_shot_direct",
        idea: "each rank adds up one part of all arrays, where they lie, and writes its sums to all",
        limit: "the ranks meet twice, which takes longer than the data where there is little",
        route: Route::TwoShotDirect,
        announced: None,
    },
    Variant {
        name: "two_shot_push",
        idea: "each rank sends its peers the parts that they add up, and then its sums: nothing is read over a link",
        limit: "the bandwidth of the links",
        route: Route::TwoShotPush,
        announced: None,
    },
    Variant {
        name: "low_latency",
        idea: "four bytes and the number of the call in one word: the data is its own flag, and takes one trip",
        limit: "twice the bytes cross the links, so that long arrays are faster by other routes",
        route: Route::LowLatency,
        announced: None,
    },
    Variant {
        name: "device_scope",
        idea: "flags in the scope of one device, as __threadfence() has it",
        limit: "such a flag orders nothing for a peer, which may read an array that is not there yet",
        ..WRONG
    },
    Variant {
        name: "reused",
        idea: "a flag that is 1, whichever call it is for",
        limit: "from the second call on it is set before the peer has come",
        ..WRONG
    },
    Variant {
        name: "overwritten",
        idea: "one place for the arrays of all calls, in place of two by turns",
        limit: "a rank that is ahead leaves its next array where a peer still reads the last one",
        ..WRONG
    },
    Variant {
        name: "arrival",
        idea: "the array that is there first is added first",
        limit: "each rank adds in an order of its own, and has last digits of its own, which are others the next time",
        announced: Some(Announced::OtherBits),
        ..WRONG
    },
];
