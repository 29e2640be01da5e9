//! Zip archives, the format of wheels.

use super::contents::File;
use super::gzip::{Effort, deflate};

/// 1 January 1980, the earliest date in a zip archive. Wheels need no other.
const FIRST_DAY: u16 = 0x21;

/// Created on Unix with version 2.0 of the format: modes are Unix modes.
const MADE_ON_UNIX: u16 = 0x0314;
const NEEDS: u16 = 20;
const DEFLATED: u16 = 8;
const REGULAR_FILE: u32 = 0o100_000;

/// An archive of the files in the given order.
pub fn archive(files: &[File], effort: Effort) -> Result<Vec<u8>, String> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for file in files {
        let start = number(archive.len())?;
        let (stream, sum) = deflate(&file.content, effort)?;
        let mut about = Vec::new();
        for field in [NEEDS, 0, DEFLATED, 0, FIRST_DAY] {
            about.extend(field.to_le_bytes());
        }
        for field in [sum, number(stream.len())?, number(file.content.len())?] {
            about.extend(field.to_le_bytes());
        }
        about.extend(short(file.path.len())?.to_le_bytes());
        about.extend([0, 0]);
        archive.extend_from_slice(b"PK\x03\x04");
        archive.extend_from_slice(&about);
        archive.extend_from_slice(file.path.as_bytes());
        archive.extend(stream);
        directory.extend_from_slice(b"PK\x01\x02");
        directory.extend(MADE_ON_UNIX.to_le_bytes());
        directory.extend(about);
        // No comment, first disk, no internal attributes.
        directory.extend([0; 6]);
        directory.extend(((REGULAR_FILE | file.mode) << 16).to_le_bytes());
        directory.extend(start.to_le_bytes());
        directory.extend_from_slice(file.path.as_bytes());
    }
    let (start, length) = (number(archive.len())?, number(directory.len())?);
    let count = short(files.len())?;
    archive.extend(directory);
    archive.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([length.to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0; 2]);
    Ok(archive)
}

fn number(length: usize) -> Result<u32, String> {
    u32::try_from(length).map_err(|_| "a zip archive holds at most 4 GB".to_owned())
}

fn short(length: usize) -> Result<u16, String> {
    u16::try_from(length).map_err(|_| "a zip archive holds at most 65,535 short names".to_owned())
}
