//! One call of a prepared reduction: its operands, then its launches.

use std::sync::Arc;

use ::cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice, SyncOnDrop};

use super::element::Value;
use super::launch::{StreamQueue, failed};
use super::workspace::Parts;
use super::{Prepared, Workspace};
use crate::error::{Error, Result};
use crate::memory::{Memory, Operands, Role};

/// A call under way: operands are named one by one, and [`Call::run`] checks them and enqueues the launches. What was wrong with an
/// operand is said then, and nothing is enqueued.
#[must_use = "nothing is enqueued before it runs"]
pub struct Call<'a> {
    prepared: &'a Prepared,
    stream: &'a Arc<CudaStream>,
    parts: Parts<'a>,
    operands: Operands,
    /// What orders the call among those of other streams, if cudarc manages that.
    guards: [Option<SyncOnDrop<'a>>; Role::ALL.len()],
    /// Arrays that a table names.
    arrays: Vec<(Memory, SyncOnDrop<'a>)>,
    refused: Option<Error>,
}

impl Prepared {
    /// Begins a call on the workspace's stream.
    pub fn call<'a>(&'a self, workspace: &'a mut Workspace) -> Call<'a> {
        let refused = self.check(workspace).err();
        let (stream, parts) = workspace.parts();
        let (operands, guards) = (Operands::default(), Default::default());
        Call { prepared: self, stream, parts, operands, guards, arrays: Vec::new(), refused }
    }

    /// Checks operands of any origin, by their addresses, and enqueues the launches on the workspace's stream: for memory that cudarc
    /// does not know.
    ///
    /// # Safety
    /// The operands are memory of the workspace's device, and stay so until the stream is past the launches; nothing else writes them
    /// meanwhile, nor reads what is written. Offsets rise, and the last is at most the number of elements; a table has the words of
    /// [`crate::Many::table`] for arrays that are such memory too.
    ///
    /// # Errors
    /// Those of [`Call::run`].
    pub unsafe fn enqueue(&self, workspace: &mut Workspace, operands: &Operands) -> Result<()> {
        self.check(workspace)?;
        let (stream, mut parts) = workspace.parts();
        // SAFETY: the caller's promise.
        unsafe { self.launch(operands, &mut parts, stream) }
    }

    fn check(&self, workspace: &Workspace) -> Result<()> {
        let is_own = workspace.stream().context() == &self.context;
        if is_own { Ok(()) } else { Err(Error::OtherContext { what: "the workspace" }) }
    }

    /// # Safety
    /// That of [`Prepared::enqueue`].
    unsafe fn launch(&self, operands: &Operands, parts: &mut Parts<'_>, stream: &Arc<CudaStream>) -> Result<()> {
        self.context.bind_to_thread().map_err(|error| failed("take the context", error))?;
        let (space, guards) = parts.space(&self.reduction, stream);
        let mut queue = StreamQueue { stream, functions: self.functions.iter() };
        // SAFETY: the caller's promise; the space is the workspace's own.
        let done = unsafe { self.reduction.enqueue(operands, space, &mut queue) };
        drop(guards);
        done
    }
}

impl<'a> Call<'a> {
    /// The elements. For an operation that goes backward what went forward has left: softmax's results, or a norm's input.
    pub fn input<T: Value>(self, input: &'a impl DevicePtr<T>) -> Self {
        self.read(Role::Input, input)
    }

    /// The second input: the other factor of `dot`, the residual of `add_*_norm`, the gradient of the results of what goes backward.
    pub fn other<T: Value>(self, other: &'a impl DevicePtr<T>) -> Self {
        self.read(Role::Other, other)
    }

    /// The results.
    pub fn out<T: Value>(self, out: &'a mut impl DevicePtrMut<T>) -> Self {
        self.write(Role::Out, out)
    }

    /// The elements, and the place of the results: each result lies over its element.
    pub fn in_place<T: Value>(mut self, data: &'a mut impl DevicePtrMut<T>) -> Self {
        self = self.write(Role::Out, data);
        let memory = self.operands.get(Role::Out);
        self.check_type::<T>(Role::Input);
        self.operands.set(Role::Input, memory);
        self
    }

    /// An operand that is read, of any role. Offsets have a call of their own.
    pub fn read<T: Value>(mut self, role: Role, slice: &'a impl DevicePtr<T>) -> Self {
        self.check_named(role);
        if self.prepared.reduction.rule(role).is_some_and(|rule| rule.is_written) {
            self.refuse_operand(role, "is written, and named by `write`");
        }
        self.name_read(role, slice);
        self
    }

    /// An operand that is written, of any role.
    pub fn write<T: Value>(mut self, role: Role, slice: &'a mut impl DevicePtrMut<T>) -> Self {
        self.check_named(role);
        self.check_type::<T>(role);
        self.check_context(role, slice);
        let bytes = slice.num_bytes() as u64;
        let (address, guard) = slice.device_ptr_mut(self.stream);
        self.hold(role, Memory { address, bytes }, guard);
        self
    }

    /// Offsets of ragged rows, `u32` or `u64`, as the plan has it, that the plan does not check. Those that it checks are
    /// [read](Call::read), beside a flag that is written.
    ///
    /// # Safety
    /// They rise, and the last is at most the number of elements: the kernels read where they lead.
    pub unsafe fn offsets<T: Value>(mut self, offsets: &'a impl DevicePtr<T>) -> Self {
        self.name_read(Role::Offsets, offsets);
        self
    }

    /// Checks the operands and enqueues the launches. It neither allocates nor waits.
    ///
    /// # Errors
    /// An operand that is missing, of another type, too short, badly aligned, of another context, or over the results in part; a
    /// workspace that is too small.
    pub fn run(mut self) -> Result<()> {
        if let Some(refused) = self.refused.take() {
            return Err(refused);
        }
        let out = self.operands.get(Role::Out);
        if self.arrays.iter().any(|(array, _)| array.overlaps(out)) {
            return Err(Error::Overlap { written: Role::Out.name(), operand: Role::Input.name() });
        }
        // SAFETY: the operands are borrowed for the call, and cudarc keeps their memory for the stream's work; offsets were promised, and the arrays are
        // those of the table.
        let done = unsafe { self.prepared.launch(&self.operands, &mut self.parts, self.stream) };
        drop((self.guards, self.arrays));
        done
    }

    fn refuse(&mut self, error: Error) {
        self.refused.get_or_insert(error);
    }

    fn refuse_operand(&mut self, role: Role, problem: &'static str) {
        self.refuse(Error::Operand { what: "a call", operand: role.name(), problem });
    }

    /// Offsets and tables decide where kernels read, so that no safe call names them.
    fn check_named(&mut self, role: Role) {
        match role {
            // With a flag the plan checks them.
            Role::Offsets if self.prepared.reduction.rule(Role::Flag).is_none() => {
                self.refuse_operand(role, "are named by `offsets`, which is unsafe");
            }
            Role::Table => self.refuse_operand(role, "is the one that `Reducer::gather` made"),
            _ => {}
        }
    }

    /// A table, and the arrays that it names: these, if they are still what it was made from.
    pub(super) fn gathered<T: Value>(
        mut self,
        table: &'a CudaSlice<u64>,
        places: &[Memory],
        arrays: &[&'a impl DevicePtr<T>],
    ) -> Self {
        self.name_read(Role::Table, table);
        for &array in arrays {
            self.check_context(Role::Input, array);
            let (address, guard) = array.device_ptr(self.stream);
            self.arrays.push((Memory { address, bytes: array.num_bytes() as u64 }, guard));
        }
        if !self.arrays.iter().map(|(memory, _)| memory).eq(places) {
            self.refuse_operand(
                Role::Input,
                "is another array, or in another place, than when the arrays were gathered",
            );
        }
        self
    }

    fn check_type<T: Value>(&mut self, role: Role) {
        let expected = self.prepared.reduction.rule(role).map_or(T::NAME, |rule| rule.element);
        if expected != T::NAME {
            self.refuse(Error::OperandType { operand: role.name(), got: T::NAME, expected });
        }
    }

    fn check_context<T>(&mut self, role: Role, slice: &impl DeviceSlice<T>) {
        if slice.stream().context() != self.stream.context() {
            self.refuse(Error::OtherContext { what: role.name() });
        }
    }

    fn name_read<T: Value>(&mut self, role: Role, slice: &'a impl DevicePtr<T>) {
        self.check_type::<T>(role);
        self.check_context(role, slice);
        let bytes = slice.num_bytes() as u64;
        let (address, guard) = slice.device_ptr(self.stream);
        self.hold(role, Memory { address, bytes }, guard);
    }

    fn hold(&mut self, role: Role, memory: Memory, guard: SyncOnDrop<'a>) {
        if self.guards[role as usize].replace(guard).is_some() {
            self.refuse_operand(role, "is named twice");
        }
        self.operands.set(role, memory);
    }
}
