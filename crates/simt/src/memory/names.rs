//! Addresses by buffer and element, for reports.

use super::{Buffer, CONST_BASE, FIRST_SLOT, Memory, SHARED_BASE, SLOT_BITS, slot_of};

impl Memory {
    /// `input[17]`, `input[1001], 4 bytes past the end of input (1000 elements)`, or the bare address; with the device, where
    /// several have memory.
    pub(crate) fn describe(&self, address: u64) -> String {
        let named = self.describe_alone(address);
        match self.near(address).filter(|_| self.devices() > 1) {
            Some(buffer) => format!("{named} of device {}", buffer.device),
            None => named,
        }
    }

    fn describe_alone(&self, address: u64) -> String {
        if (CONST_BASE..SHARED_BASE).contains(&address) {
            return format!("{}, a constant", self.describe(address - CONST_BASE));
        }
        if let Some((_, at)) = slot_of(address).filter(|&(slot, _)| Some(slot) == self.heap_slot) {
            return self.heap().describe(at);
        }
        if let Some((buffer, offset)) = self.buffer(address) {
            if offset < buffer.bytes {
                return element(&buffer.name, offset, buffer.element_bytes);
            }
            let past = offset - buffer.bytes;
            if past < 1 << (SLOT_BITS - 1) {
                return element_past(&buffer.name, buffer.bytes, past, buffer.element_bytes);
            }
        }
        if let Some((next, before)) = self.after(address) {
            return element_before(&next.name, before, next.element_bytes);
        }
        if self.is_null(address) {
            return format!("address {address:#x}, a null pointer plus {address} bytes");
        }
        format!("address {address:#x}, which no buffer holds")
    }

    /// The buffer that starts shortly after `address`, which is in none, and how many bytes after.
    fn after(&self, address: u64) -> Option<(&Buffer, u64)> {
        let slot = ((address >> SLOT_BITS) + 1).checked_sub(FIRST_SLOT)?;
        let before = (1 << SLOT_BITS) - (address & ((1 << SLOT_BITS) - 1));
        let next = self.slots.get(slot as usize)?.as_ref()?;
        (before <= 1 << (SLOT_BITS - 1)).then_some((next, before))
    }

    /// Returns whether it is the null pointer, or that and an index.
    pub(crate) fn is_null(&self, address: u64) -> bool {
        address < 1 << SLOT_BITS
    }

    /// Returns whether it lies shortly before a buffer.
    pub(crate) fn is_before(&self, address: u64) -> bool {
        let past = self.buffer(address).is_some_and(|(_, offset)| offset < 1 << (SLOT_BITS - 1));
        !past && self.after(address).is_some()
    }

    /// The name of the buffer that `describe` names.
    pub(crate) fn name_at(&self, address: u64) -> Option<&str> {
        self.near(address).map(|buffer| buffer.name.as_str())
    }

    /// The buffer that holds `address`, or is near it.
    fn near(&self, address: u64) -> Option<&Buffer> {
        let buffer = self.buffer(address).filter(|(_, offset)| *offset < 1 << (SLOT_BITS - 1));
        buffer.or_else(|| self.after(address)).map(|(buffer, _)| buffer)
    }
}

/// `name[index]`, with the byte when the offset falls inside an element.
pub(crate) fn element(name: &str, offset: u64, element_bytes: u32) -> String {
    let (index, byte) = (offset / u64::from(element_bytes), offset % u64::from(element_bytes));
    if byte == 0 { format!("{name}[{index}]") } else { format!("{name}[{index}] (byte {byte})") }
}

/// `name[index], 4 bytes past the end of name (1000 elements)`, of a variable of `bytes`.
pub(crate) fn element_past(name: &str, bytes: u64, past: u64, element_bytes: u32) -> String {
    let what = element(name, bytes + past, element_bytes);
    let elements = bytes / u64::from(element_bytes);
    let distance = match past {
        0 => "just".into(),
        1 => "1 byte".into(),
        _ => format!("{past} bytes"),
    };
    format!("{what}, {distance} past the end of {name} ({elements} elements)")
}

/// `name[-2], 8 bytes before the start of name`.
pub(crate) fn element_before(name: &str, before: u64, element_bytes: u32) -> String {
    let element_bytes = u64::from(element_bytes);
    let index = before.div_ceil(element_bytes);
    let byte = match index * element_bytes - before {
        0 => String::new(),
        byte => format!(" (byte {byte})"),
    };
    let s = if before == 1 { "" } else { "s" };
    format!("{name}[-{index}]{byte}, {before} byte{s} before the start of {name}")
}
