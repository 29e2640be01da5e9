//! Gives memory back that only the start of a process needs.
#![expect(unsafe_code, reason = "advice about memory has no safe form")]

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::{fs, io};

/// Gives back the read-only data of this program's file that is in memory. Most of it is the list of
/// addresses that the dynamic linker adjusts, megabytes that nothing needs after the start. What is
/// needed again comes back from the system's cache of the file, page by page.
///
/// # Errors
/// If the system refuses it.
pub fn release_start_memory() -> io::Result<()> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let file = fs::read_link("/proc/self/exe")?;
    let Some(data) = read_only_data(&maps, &file.to_string_lossy()) else { return Ok(()) };
    let start = with_exposed_provenance_mut::<c_void>(data.start);
    // SAFETY: the pages are a read-only view of the file and were never writable, because the first
    // segment has nothing to be adjusted: each access finds what the file has, before and after.
    match unsafe { libc::madvise(start, data.len(), libc::MADV_DONTNEED) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The addresses of the first segment of a file, if it is read-only, in the text of `/proc/self/maps`.
fn read_only_data(maps: &str, file: &str) -> Option<Range<usize>> {
    let line = maps.lines().find(|line| line.ends_with(file))?;
    let mut fields = line.split_ascii_whitespace();
    let (addresses, permissions, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let (start, end) = addresses.split_once('-')?;
    let address = |digits| usize::from_str_radix(digits, 16).ok();
    let is_data = permissions == "r--p" && address(offset) == Some(0);
    is_data.then_some(address(start)?..address(end)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_segment_is_released_if_it_is_read_only() {
        let rest = "55d0a000-55d0b000 r-xp 01937000 fe:00 12 /usr/bin/onecall\n\
                    7f02-7f03 r--p 00000000 fe:00 13 /usr/lib/libc.so.6\n";
        let maps = |first: &str| format!("{first} fe:00 12 /usr/bin/onecall\n{rest}");
        let found = |first: &str| read_only_data(&maps(first), "/usr/bin/onecall");
        assert_eq!(found("55d00000-55d0a000 r--p 00000000"), Some(0x55d0_0000..0x55d0_a000));
        for other in ["55d00000-55d0a000 rw-p 00000000", "55d00000-55d0a000 r--p 00001000", "x"] {
            assert_eq!(found(other), None, "{other}");
        }
        assert_eq!(read_only_data(rest, "/usr/bin/other"), None);
    }

    #[test]
    fn data_is_the_same_after_it_was_released() {
        static DATA: [u64; 4096] = [0x0123_4567_89ab_cdef; 4096];
        for _ in 0..2 {
            release_start_memory().expect("the system takes the advice");
            assert!(std::hint::black_box(&DATA).iter().all(|it| *it == 0x0123_4567_89ab_cdef));
        }
    }
}
