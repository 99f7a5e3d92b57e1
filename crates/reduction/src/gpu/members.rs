//! Ranks with a thread each, which tell each other where their arrays are.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use ::cudarc::driver::{DevicePtr, DevicePtrMut};

use super::Element;
use super::ranks::{All, Rank};
use crate::error::{Error, Result};
use crate::group::{Group, Route, Share};

/// A rank for a thread of its own. Every member makes the same calls in the same order; a call waits, on the host, until all members
/// have named their arrays, and enqueues the kernel of its own rank.
#[derive(Debug)]
pub struct Member {
    all: Arc<All>,
    rank: usize,
    meeting: Arc<Meeting<Posted>>,
}

/// A member's part of a call, or nothing where it was refused.
type Posted = Option<Brought>;

#[derive(Debug, Clone, Copy)]
struct Brought {
    share: Share,
    n: usize,
    route: Option<Route>,
}

impl Member {
    /// A member for each rank.
    pub(super) fn all(all: &Arc<All>) -> Vec<Member> {
        let meeting = Arc::new(Meeting::new(all.ranks.len()));
        let member = |rank| Member { all: Arc::clone(all), rank, meeting: Arc::clone(&meeting) };
        (0..all.ranks.len()).map(member).collect()
    }

    /// Its rank, from 0 on.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The group, plain data.
    pub fn group(&self) -> &Group {
        &self.all.group
    }

    /// Reduces the members' arrays into results on each, as [`crate::Ranks::all_reduce`] does.
    ///
    /// # Errors
    /// Refusals of [`crate::Ranks::all_reduce`]; [`Error::Members`] for calls that differ in length or route; [`Error::Member`] where another was
    /// refused, or is gone. Nothing is enqueued then on any of them. After a refusal the next call may be made; a member that is gone is
    /// gone for every later call.
    pub fn all_reduce<T: Element>(
        &mut self,
        route: impl Into<Option<Route>>,
        input: &impl DevicePtr<T>,
        out: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        let (rank, group, n) = (self.own(), &self.all.group, input.len());
        let checked = rank.check::<T>(group, "in", n, input).and_then(|()| rank.check::<T>(group, "out", n, out));
        if let Err(refused) = checked {
            return self.refuse(refused);
        }
        let (input, _first) = input.device_ptr(&rank.stream);
        let (out, _second) = out.device_ptr_mut(&rank.stream);
        // SAFETY: the operands are borrowed for the call, and cudarc keeps their memory for the work of its stream.
        unsafe { self.meet(route.into(), n, rank.share::<T>(n, input, out)) }
    }

    /// Reduces the members' arrays and leaves the results in their places.
    ///
    /// # Errors
    /// Those of [`Member::all_reduce`].
    pub fn all_reduce_in_place<T: Element>(
        &mut self,
        route: impl Into<Option<Route>>,
        array: &mut impl DevicePtrMut<T>,
    ) -> Result<()> {
        let (rank, n) = (self.own(), array.len());
        if let Err(refused) = rank.check::<T>(&self.all.group, "out", n, array) {
            return self.refuse(refused);
        }
        let (address, _guard) = array.device_ptr_mut(&rank.stream);
        // SAFETY: as above.
        unsafe { self.meet(route.into(), n, rank.share::<T>(n, address, address)) }
    }

    fn own(&self) -> &Rank {
        &self.all.ranks[self.rank]
    }

    /// Tells the others that this member's call is refused.
    fn refuse(&self, refused: Error) -> Result<()> {
        let _ = self.meeting.meet(self.rank, None);
        Err(refused)
    }

    /// Meets the others and enqueues, if all of them may.
    ///
    /// # Safety
    /// The operands of the share are the rank's own until its stream is past the call.
    unsafe fn meet(&self, route: Option<Route>, n: usize, share: Share) -> Result<()> {
        let ready = |call| self.own().check_ready(&call).map(|()| call);
        let call = match self.all.call(route, n).and_then(ready) {
            Ok(call) => call,
            Err(refused) => return self.refuse(refused),
        };
        let own = Brought { share, n, route };
        let posted = self.meeting.meet(self.rank, Some(own)).map_err(|rank| Error::Member { rank, what: "is gone" })?;
        let refused = |(rank, posted): (usize, &Posted)| posted.ok_or(Error::Member { rank, what: "was refused" });
        let all = posted.iter().enumerate().map(refused).collect::<Result<Vec<_>>>()?;
        for (rank, other) in all.iter().enumerate() {
            own.check_same(rank, other)?;
        }
        let shares: Vec<Share> = all.iter().map(|brought| brought.share).collect();
        // A launch is refused by what is checked of all shares: on all members alike.
        let launch = call.launch(self.rank as u32, &shares)?;
        // SAFETY: every member has promised it for its own.
        unsafe { self.own().enqueue(&call, &launch) }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.meeting.leave(self.rank);
    }
}

impl Brought {
    fn check_same(&self, rank: usize, other: &Brought) -> Result<()> {
        let differ = |what, got: String, other| Err(Error::Members { what, got, other, rank });
        let name = |route: Option<Route>| route.map_or("left to the group".to_owned(), |route| route.to_string());
        if self.n != other.n {
            return differ("the length", self.n.to_string(), other.n.to_string());
        }
        if self.route != other.route {
            return differ("the route", name(self.route), name(other.route));
        }
        Ok(())
    }
}

/// A place where threads exchange something each, again and again.
#[derive(Debug)]
struct Meeting<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct State<T> {
    posts: Vec<Option<T>>,
    /// Everything that was brought to the last meeting, and the number of meetings.
    last: Arc<[T]>,
    count: u64,
    gone: Option<usize>,
}

impl<T> Meeting<T> {
    fn new(members: usize) -> Meeting<T> {
        let posts = (0..members).map(|_| None).collect();
        let state = State { posts, last: Arc::new([]), count: 0, gone: None };
        Meeting { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything that was brought, once all have come; or the member that is gone.
    fn meet(&self, member: usize, brought: T) -> std::result::Result<Arc<[T]>, usize> {
        let mut state = self.state();
        let count = state.count;
        state.posts[member] = Some(brought);
        if state.posts.iter().all(Option::is_some) {
            state.last = state.posts.iter_mut().filter_map(Option::take).collect();
            state.count += 1;
            self.changed.notify_all();
        }
        // The next meeting cannot be complete before all have left this one, so that `last` stays what it is.
        while state.count == count {
            if let Some(gone) = state.gone {
                return Err(gone);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(Arc::clone(&state.last))
    }

    fn leave(&self, member: usize) {
        self.state().gone.get_or_insert(member);
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_what_all_brought_to_the_same_meeting() {
        let meeting = Meeting::new(3);
        std::thread::scope(|scope| {
            for member in 0..3u64 {
                let meeting = &meeting;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let all = meeting.meet(member as usize, 10 * round + member).expect("all are there");
                        assert_eq!(*all, [0, 1, 2].map(|member| 10 * round + member));
                    }
                });
            }
        });
    }

    #[test]
    fn a_member_that_is_gone_is_waited_for_by_none() {
        let meeting = Meeting::new(2);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| meeting.meet(0, ()).map(|_| ()));
            meeting.leave(1);
            assert_eq!(waits.join().expect("no panic"), Err(1));
        });
        assert_eq!(meeting.meet(0, ()).map(|_| ()), Err(1));
    }
}
