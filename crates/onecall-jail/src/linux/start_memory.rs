//! Gives memory back that only the start of a process needs.
#![expect(unsafe_code, reason = "advice about memory has no safe form")]

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::{fs, io};

/// Gives back what is in memory of this program's file and was never changed: code that only the start
/// executes, and the list of addresses that the dynamic linker adjusts, megabytes of each. What is needed
/// again comes back from the system's cache of the file, page by page.
///
/// # Errors
/// If the system refuses it.
pub fn release_start_memory() -> io::Result<()> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let file = fs::read_link("/proc/self/exe")?;
    for segment in unchanged_segments(&maps, &file.to_string_lossy()) {
        let start = with_exposed_provenance_mut::<c_void>(segment.start);
        // SAFETY: the pages are a view of the file and were never writable, because neither the first
        // segment nor the code has anything to be adjusted: each access finds what the file has, before
        // and after.
        if unsafe { libc::madvise(start, segment.len(), libc::MADV_DONTNEED) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The addresses of a file's first segment, if it is read-only, and of its code, in the text of
/// `/proc/self/maps`. Other read-only segments have been adjusted by the dynamic linker.
fn unchanged_segments(maps: &str, file: &str) -> Vec<Range<usize>> {
    let address = |digits: &str| usize::from_str_radix(digits, 16).ok();
    let unchanged = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (addresses, permissions, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let is_unchanged = match permissions {
            "r--p" => address(offset) == Some(0),
            "r-xp" => true,
            _ => false,
        };
        let (start, end) = addresses.split_once('-').filter(|_| is_unchanged)?;
        Some(address(start)?..address(end)?)
    };
    maps.lines().filter(|line| line.ends_with(file)).filter_map(unchanged).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_changed_is_released() {
        let maps = |first: &str| {
            format!(
                "{first} fe:00 12 /usr/bin/onecall\n\
                 55d0a000-55d0b000 r-xp 01937000 fe:00 12 /usr/bin/onecall\n\
                 55d0b000-55d0c000 r--p 02000000 fe:00 12 /usr/bin/onecall\n\
                 55d0c000-55d0d000 rw-p 02100000 fe:00 12 /usr/bin/onecall\n\
                 7f02-7f03 r--p 00000000 fe:00 13 /usr/lib/libc.so.6\n"
            )
        };
        let found = |first: &str| unchanged_segments(&maps(first), "/usr/bin/onecall");
        let (data, code) = (0x55d0_0000..0x55d0_a000, 0x55d0_a000..0x55d0_b000);
        assert_eq!(found("55d00000-55d0a000 r--p 00000000"), [data, code.clone()]);
        for other in ["55d00000-55d0a000 rw-p 00000000", "55d00000-55d0a000 r--p 00001000", "x"] {
            assert_eq!(found(other), std::slice::from_ref(&code), "{other}");
        }
        assert_eq!(unchanged_segments(&maps("x"), "/usr/bin/other"), []);
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
