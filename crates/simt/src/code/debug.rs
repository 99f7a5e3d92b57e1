//! Origin of an instruction: its place in the PTX, and in the source that the PTX was compiled from.

use std::sync::Arc;

use ptx::Loc;

use super::Debug;
use crate::fault::{Frame, Site};

impl Debug {
    /// Debug entry of `instruction`, or of a later part of it, which is not counted.
    pub fn of(instruction: &ptx::Instruction, counted: bool) -> Debug {
        let frames: Arc<[Loc]> = match &*instruction.callers {
            [] => Arc::default(),
            callers => instruction.loc.iter().chain(callers).copied().collect(),
        };
        let loc = match frames.last() {
            Some(outermost) => frames.iter().find(|frame| frame.file == outermost.file).copied(),
            None => instruction.loc,
        };
        Debug { loc, frames, ptx_line: instruction.span.line, opcode: instruction.opcode.clone(), counted }
    }

    /// The place in the source, or where that is not known, in line `ptx_line` of the PTX file `file`. It is no
    /// thread's: block, warp and lanes are 0.
    pub fn site(&self, sources: &[ptx::SourceFile], file: &str, ptx_line: u32) -> Site {
        let in_source = |loc: &Loc| {
            let file = sources.iter().find(|source| source.index == loc.file)?;
            Some(Frame { file: file.path.clone(), line: loc.line })
        };
        let place = self.loc.as_ref().and_then(in_source);
        let Frame { file, line } = place.unwrap_or_else(|| Frame { file: file.to_owned(), line: ptx_line });
        let frames = self.frames.iter().filter_map(in_source).collect();
        let opcode = self.opcode.clone();
        Site {
            file,
            line,
            between: None,
            frames,
            ptx_line,
            opcode,
            launch: 0,
            device: None,
            block: [0; 3],
            warp: 0,
            lanes: 0,
            action: "",
        }
    }

    /// Returns whether it comes from a line of the source, or from an inlined call on that line.
    pub fn is_of_line(&self, line: u32) -> bool {
        self.loc
            .is_some_and(|loc| loc.line == line || self.frames.iter().any(|at| at.file == loc.file && at.line == line))
    }

    /// Debug entry of an instruction that the simulator adds to a line of the PTX.
    pub fn added(opcode: &str, ptx_line: u32) -> Debug {
        Debug { loc: None, frames: Arc::default(), ptx_line, opcode: opcode.into(), counted: false }
    }
}
