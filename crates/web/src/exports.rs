//! Functions that a page calls. Only these touch addresses; everything else is ordinary Rust.

use std::alloc::Layout;

/// Words are read as such by the page.
const ALIGNMENT: usize = 4;

fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
}

/// Room for `bytes` bytes; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn alloc(bytes: usize) -> *mut u8 {
    match layout(bytes) {
        // SAFETY: the layout has at least one byte.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => std::ptr::null_mut(),
    }
}

/// Gives back what `alloc` or `run` gave, with the number of bytes it has.
///
/// # Safety
/// `address` comes from `alloc(bytes)` or is an answer of `bytes` bytes, and was not given back before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(address: *mut u8, bytes: usize) {
    if let Some(layout) = layout(bytes).filter(|_| !address.is_null()) {
        // SAFETY: the caller says that this is the layout it was allocated with.
        unsafe { std::alloc::dealloc(address, layout) }
    }
}

/// Runs the request of `bytes` bytes at `address`. The answer begins with the number of bytes after that number; it has 4 more
/// in all, and the caller gives it back. 0 if there is no room for it.
///
/// # Safety
/// `bytes` bytes from `address` on are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn run(address: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller says that they are readable.
    let request = unsafe { std::slice::from_raw_parts(address, bytes) };
    let answer = crate::answer(request);
    let to = alloc(4 + answer.len());
    if !to.is_null() {
        // SAFETY: `alloc` gave room for both, which is new and overlaps neither.
        unsafe {
            to.copy_from_nonoverlapping((answer.len() as u32).to_le_bytes().as_ptr(), 4);
            to.add(4).copy_from_nonoverlapping(answer.as_ptr(), answer.len());
        }
    }
    to
}
