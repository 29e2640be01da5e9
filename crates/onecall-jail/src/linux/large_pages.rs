//! Gathers the memory of a process in large pages, which makes it cheap to fork.
#![expect(unsafe_code, reason = "advice about memory has no safe form")]

use std::ffi::c_void;
use std::ops::Range;
use std::ptr::with_exposed_provenance_mut;
use std::{fs, io};

/// The size of a large page on the usual machines. On others, the advice below is refused.
const LARGE_PAGE: usize = 2 * 1024 * 1024;

/// The size of a small page.
const SMALL_PAGE: usize = 4096;

const SMALL_PAGES: usize = LARGE_PAGE / SMALL_PAGE;

/// How many small pages have to be in use to take a large page for them: the others become memory that nothing
/// uses.
const WORTHWHILE: usize = SMALL_PAGES * 3 / 4;

/// Moves the data of this process into large pages, where it fills most of them. A fork then copies one entry for
/// each of them instead of 512, and so does the end of the forked process. A system that cannot do it leaves
/// everything as it is.
///
/// # Errors
/// If the list of this process's memory cannot be read.
pub fn use_large_pages() -> io::Result<()> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    for page in data(&maps).into_iter().flat_map(large_pages) {
        let address = with_exposed_provenance_mut::<c_void>(page);
        if used_pages(address) < WORTHWHILE {
            continue;
        }
        // SAFETY: the advice changes where data is, and neither its address nor its content.
        unsafe { libc::madvise(address, LARGE_PAGE, libc::MADV_COLLAPSE) };
    }
    Ok(())
}

/// How many small pages at the address of a large one are in use.
fn used_pages(address: *mut c_void) -> usize {
    let mut residency = [0u8; SMALL_PAGES];
    // SAFETY: the list has an entry for each small page.
    let result = unsafe { libc::mincore(address, LARGE_PAGE, residency.as_mut_ptr()) };
    if result == 0 { residency.iter().filter(|entry| *entry & 1 != 0).count() } else { 0 }
}

/// The addresses of private memory without a file, in the text of `/proc/self/maps`.
fn data(maps: &str) -> Vec<Range<usize>> {
    let address = |digits: &str| usize::from_str_radix(digits, 16).ok();
    let range = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (addresses, permissions) = (fields.next()?, fields.next()?);
        let is_data = permissions == "rw-p" && matches!(fields.nth(3), None | Some("[heap]"));
        let (start, end) = addresses.split_once('-').filter(|_| is_data)?;
        Some(address(start)?..address(end)?)
    };
    maps.lines().filter_map(range).collect()
}

/// The addresses in a range at which a large page can be that lies in the range as a whole.
fn large_pages(range: Range<usize>) -> impl Iterator<Item = usize> {
    let first = range.start.next_multiple_of(LARGE_PAGE);
    (first..range.end).step_by(LARGE_PAGE).filter(move |start| range.end - start >= LARGE_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_memory_without_a_file_is_data() {
        let maps = "55d0a000-55d0b000 r-xp 00000000 fe:00 12 /usr/bin/onecall\n\
                    55d0b000-55d0c000 rw-p 00001000 fe:00 12 /usr/bin/onecall\n\
                    55d0c000-55d0d000 rw-p 00000000 00:00 0 [heap]\n\
                    5e5da000000-5e5de000000 rw-p 00000000 00:00 0\n\
                    7f01-7f02 rw-s 00000000 00:01 7 /memfd:shared (deleted)\n\
                    7f02-7f03 r--p 00000000 00:00 0\n\
                    7ffc70b7f000-7ffc70ba0000 rw-p 00000000 00:00 0 [stack]\n";
        assert_eq!(data(maps), [0x55d0_c000..0x55d0_d000, 0x5e5_da00_0000..0x5e5_de00_0000]);
    }

    #[test]
    fn a_large_page_never_reaches_beyond_its_range() {
        let pages = |range| large_pages(range).collect::<Vec<_>>();
        assert_eq!(pages(0x10_0000..0x50_0000), [0x20_0000]);
        assert_eq!(pages(0x20_0000..0x60_0000), [0x20_0000, 0x40_0000]);
        assert_eq!(pages(0x10_0000..0x3f_0000), []);
        assert_eq!(pages(0x10_0000..0x11_0000), []);
    }

    #[test]
    fn data_is_the_same_afterwards() {
        let numbers: Vec<u64> = (0..1024 * 1024).collect();
        use_large_pages().expect("the list of memory can be read");
        assert!(numbers.iter().zip(0..).all(|(number, expected)| *number == expected));
    }
}
