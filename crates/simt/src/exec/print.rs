//! `vprintf` and `__assertfail`, which CUDA's runtime has on a GPU: they read memory, and what they print is collected.

use super::findings::Detail;
use super::issue::{Issue, Place};
use super::{Machine, Stop};
use crate::code::CallSite;
use crate::fault::Code;
use crate::masks::lanes;
use crate::memory::{CONST_BASE, LOCAL_BASE, PARAM_BASE, SHARED_BASE};
use crate::print::{PRINTED_BYTES_MAX, Values, format};

/// Reader of one lane's packed values.
struct Reader<'r, 'i, 'k> {
    machine: &'r Machine<'k>,
    issue: &'r mut Issue<'i>,
    lane: usize,
    /// Address of the next value.
    next: u64,
    /// The first address that could not be read.
    failed: Option<u64>,
}

impl Reader<'_, '_, '_> {
    fn byte(&mut self, address: u64) -> Option<u8> {
        let byte = match place_of(address) {
            (Place::Param, at) => self.machine.context.params.get(at as usize).copied(),
            (Place::Local, at) => {
                (at < self.issue.warp.local_bytes()).then(|| self.issue.warp.load_local(self.lane, at, 1) as u8)
            }
            (Place::Shared, at) => {
                let inside = at < u64::from(self.machine.context.shared_bytes);
                inside.then(|| self.issue.env.shared.load(at as u32, 1) as u8)
            }
            _ => {
                if self.machine.context.side_by_side {
                    self.issue.env.log.read(address, address + 1);
                }
                let buffer = self.machine.context.holding(address & !CONST_BASE, 1);
                buffer.map(|(buffer, offset)| buffer.load(offset, 1) as u8)
            }
        };
        if byte.is_none() {
            self.failed.get_or_insert(address);
        }
        byte
    }
}

impl Values for Reader<'_, '_, '_> {
    fn next(&mut self, bytes: u32) -> Option<u64> {
        let at = self.next.checked_next_multiple_of(u64::from(bytes))?;
        self.next = at.checked_add(u64::from(bytes))?;
        let mut raw = [0; 8];
        for (byte, address) in raw.iter_mut().zip(at..self.next) {
            *byte = self.byte(address)?;
        }
        Some(u64::from_le_bytes(raw))
    }

    fn string(&mut self, address: u64, limit: usize) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        for address in (address..).take(limit.min(PRINTED_BYTES_MAX)) {
            match self.byte(address)? {
                0 => break,
                byte => text.push(byte),
            }
        }
        Some(text)
    }
}

/// The state space of a generic address, and the address there.
fn place_of(address: u64) -> (Place, u64) {
    match address {
        PARAM_BASE.. => (Place::Param, address - PARAM_BASE),
        LOCAL_BASE.. => (Place::Local, address - LOCAL_BASE),
        SHARED_BASE.. => (Place::Shared, address - SHARED_BASE),
        CONST_BASE.. => (Place::Const, address - CONST_BASE),
        _ => (Place::Global, address),
    }
}

/// The 8 bytes that a lane passes as argument `place`.
fn argument(issue: &Issue<'_>, site: &CallSite, place: usize, lane: usize) -> u64 {
    let (warp, slot) = (&issue.warp, site.arguments[place]);
    let row = (warp.splits[issue.at].frame + slot.caller) as usize;
    let high = if slot.rows > 1 { warp.frames[row + 1].0[lane] } else { 0 };
    u64::from(warp.frames[row].0[lane]) | u64::from(high) << 32
}

impl Machine<'_> {
    /// `vprintf(format, values)`: returns the number of values, -1 without a format.
    pub(super) fn print(&mut self, issue: &mut Issue<'_>, site: &CallSite) -> Result<(), Stop> {
        let result = (issue.warp.splits[issue.at].frame + site.returns[0].caller) as usize;
        for lane in lanes(issue.active) {
            let [text, values] = [0, 1].map(|place| argument(issue, site, place, lane));
            let mut reader = Reader { machine: self, issue, lane, next: values, failed: None };
            let count = match text {
                0 => -1,
                _ => match reader.string(text, usize::MAX).and_then(|text| format(&text, &mut reader)) {
                    Some((text, count)) => {
                        self.printed.push(issue.env.linear, text);
                        count
                    }
                    None => {
                        let (place, address) = place_of(reader.failed.unwrap_or(values));
                        let detail = Detail::Access { place, address, bytes: 1 };
                        self.findings.found(issue, 1 << lane, Code::OutOfBounds, detail);
                        -2
                    }
                },
            };
            issue.warp.frames[result].0[lane] = count as u32;
        }
        Ok(())
    }

    /// `malloc(bytes)`, one lane after the other: the address, 0 without room.
    pub(super) fn allocate(&mut self, issue: &mut Issue<'_>, site: &CallSite) {
        let result = (issue.warp.splits[issue.at].frame + site.returns[0].caller) as usize;
        for lane in lanes(issue.active) {
            let address = self.context.memory.allocate_in_kernel(argument(issue, site, 0, lane));
            issue.warp.frames[result].0[lane] = address as u32;
            issue.warp.frames[result + 1].0[lane] = (address >> 32) as u32;
        }
    }

    /// `free(address)`; of 0 it does nothing.
    pub(super) fn give_back(&mut self, issue: &mut Issue<'_>, site: &CallSite) {
        for lane in lanes(issue.active) {
            let address = argument(issue, site, 0, lane);
            if address != 0 && !self.context.memory.free_in_kernel(address) {
                self.findings.found(issue, 1 << lane, Code::OutOfBounds, Detail::NotAllocated(address));
            }
        }
    }

    /// `__assertfail(condition, file, line, function, bytes of a character)`: prints what failed and ends the launch.
    pub(super) fn assertion(&mut self, issue: &mut Issue<'_>, site: &CallSite) -> Result<(), Stop> {
        let mut failed = String::new();
        for lane in lanes(issue.active) {
            let [condition, file, line, function] = [0, 1, 2, 3].map(|place| argument(issue, site, place, lane));
            let mut reader = Reader { machine: self, issue, lane, next: 0, failed: None };
            let mut text = |address| match address {
                0 => String::new(),
                _ => String::from_utf8_lossy(&reader.string(address, 4096).unwrap_or_default()).into_owned(),
            };
            let (condition, file, function) = (text(condition), text(file), text(function));
            let [x, y, z] = issue.env.block;
            let thread = issue.warp.index * 32 + lane as u32;
            let [width, height, _] = self.context.launch.block;
            let (i, j, k) = (thread % width, thread / width % height, thread / width / height);
            let line = line as u32;
            let line = format!(
                "{file}:{line}: {function}: block: [{x},{y},{z}], thread: [{i},{j},{k}] Assertion `{condition}` failed.\n"
            );
            self.printed.push(issue.env.linear, line.into_bytes());
            if failed.is_empty() {
                failed = condition;
            }
        }
        self.findings.found(issue, issue.active, Code::Trap, Detail::Assertion(failed));
        Err(Stop::Fatal)
    }
}
