//! Tar archives in the `ustar` format, with root as the owner and one time for all files.

use std::collections::BTreeSet;

use super::contents::File;

const BLOCK: usize = 512;

/// The longest path that fits into one field of the header.
const LONGEST_PATH: usize = 100;

/// An archive of the files in order, and the folders that contain them.
pub fn archive(files: &[File], time: u64) -> Result<Vec<u8>, String> {
    let mut archive = Vec::new();
    let mut folders = BTreeSet::new();
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_by(|one, other| one.path.cmp(&other.path));
    for file in sorted {
        for (end, _) in file.path.match_indices('/') {
            let folder = file.path.get(..=end).unwrap_or_default();
            if folders.insert(folder) && folder != "./" {
                archive.extend(header(folder, 0o755, 0, time, b'5')?);
            }
        }
        archive.extend(header(&file.path, file.mode, file.content.len(), time, b'0')?);
        archive.extend_from_slice(&file.content);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    Ok(archive)
}

fn header(path: &str, mode: u32, length: usize, time: u64, kind: u8) -> Result<Vec<u8>, String> {
    if path.len() > LONGEST_PATH {
        return Err(format!("{path} is too long for a tar archive"));
    }
    let mut header = Vec::with_capacity(BLOCK);
    let mut field = |text: &str, width: usize| {
        header.extend_from_slice(text.as_bytes());
        header.resize(header.len() + width.saturating_sub(text.len()), 0);
    };
    field(path, LONGEST_PATH);
    field(&format!("{mode:07o}"), 8);
    field("0000000", 8);
    field("0000000", 8);
    field(&format!("{length:011o}"), 12);
    field(&format!("{time:011o}"), 12);
    // The checksum counts its own field as spaces.
    field("        ", 8);
    field(&char::from(kind).to_string(), 1);
    field("", 100);
    field("ustar\u{0}00", 8);
    field("root", 32);
    field("root", 32);
    field("0000000", 8);
    field("0000000", 8);
    field("", BLOCK - 345);
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header.splice(148..156, format!("{sum:06o}\u{0} ").into_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn tar_reads_what_is_written() {
        let files = [
            File::new("one/two/run", 0o755, "#!/bin/sh\n"),
            File::new("one/text", 0o644, "a".repeat(513)),
        ];
        let archive = archive(&files, 86_400).expect("an archive");
        let mut tar = Command::new("tar");
        tar.args(["--list", "--verbose", "--numeric-owner", "--file=-"])
            .envs([("TZ", "UTC"), ("LC_ALL", "C")]);
        let mut child = tar.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("tar");
        child.stdin.take().expect("stdin").write_all(&archive).expect("tar reads");
        let output = child.wait_with_output().expect("an end");
        let listed = String::from_utf8(output.stdout).expect("text");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let listed: Vec<String> = listed.lines().map(words).collect();
        assert_eq!(
            listed,
            [
                "drwxr-xr-x 0/0 0 1970-01-02 00:00 one/",
                "-rw-r--r-- 0/0 513 1970-01-02 00:00 one/text",
                "drwxr-xr-x 0/0 0 1970-01-02 00:00 one/two/",
                "-rwxr-xr-x 0/0 10 1970-01-02 00:00 one/two/run",
            ]
        );
        assert!(super::archive(&[File::new("x".repeat(101), 0o644, "")], 0).is_err());
    }
}
