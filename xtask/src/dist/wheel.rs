//! The wheel: `onecall-VERSION-py3-none-manylinux_….whl`, which installs the binary as a script. It
//! contains no Python; the separate package `onecall-client` (clients/python) finds the binary.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::binary::{Binary, Glibc};
use super::contents::{File, LICENCE, Release, SUMMARY};
use super::gzip::Effort;
use super::zip;

/// The name of the wheel, and its bytes.
pub fn package(
    release: &Release,
    binary: &Binary,
    effort: Effort,
) -> Result<(String, Vec<u8>), String> {
    let name = format!("onecall-{}", release.version);
    let platforms = platforms(binary.glibc, binary.processor.name());
    let content = binary.content.clone();
    let script = format!("{name}.data/scripts/onecall");
    let mut files = vec![File { path: script, mode: 0o755, content }];
    let information = format!("{name}.dist-info");
    let licences = format!("{information}/licenses");
    files.extend(release.licences.iter().map(|licence| licence.below(&licences)));
    files.push(File::new(format!("{information}/METADATA"), 0o644, metadata(release)));
    files.push(File::new(format!("{information}/WHEEL"), 0o644, tags(&platforms)));
    let record = format!("{information}/RECORD");
    files.push(File::new(record.clone(), 0o644, records(&files, &record)));
    let name = format!("{name}-py3-none-{}.whl", platforms.join("."));
    Ok((name, zip::archive(&files, effort)?))
}

/// The platform tags of the wheel; for the first of them there is an older name for older versions
/// of pip.
fn platforms((major, minor): Glibc, processor: &str) -> Vec<String> {
    let mut platforms = vec![format!("manylinux_{major}_{minor}_{processor}")];
    if (major, minor) == (2, 17) {
        platforms.push(format!("manylinux2014_{processor}"));
    }
    platforms
}

fn metadata(release: &Release) -> String {
    let mut text = format!(
        "Metadata-Version: 2.4\n\
         Name: onecall\n\
         Version: {}\n\
         Summary: {SUMMARY}\n\
         License-Expression: {LICENCE}\n",
        release.version
    );
    for licence in &release.licences {
        let _ = writeln!(text, "License-File: {}", licence.path);
    }
    text + "Requires-Python: >=3.7\nDescription-Content-Type: text/markdown\n\n" + &release.about
}

fn tags(platforms: &[String]) -> String {
    let mut text =
        "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\n".to_owned();
    for platform in platforms {
        let _ = writeln!(text, "Tag: py3-none-{platform}");
    }
    text
}

/// The hash and the size of every file except the record itself.
fn records(files: &[File], record: &str) -> String {
    let mut text = String::new();
    for file in files {
        let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(&file.content));
        let _ = writeln!(text, "{},sha256={hash},{}", file.path, file.content.len());
    }
    text + record + ",,\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_in_the_base64_of_urls() {
        let files = [File::new("a".to_owned(), 0o644, String::new())];
        let hash = "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
        assert_eq!(records(&files, "RECORD"), format!("a,sha256={hash},0\nRECORD,,\n"));
    }

    #[test]
    fn a_wheel_is_for_the_systems_that_have_the_glibc() {
        assert_eq!(platforms((2, 17), "x86_64"), ["manylinux_2_17_x86_64", "manylinux2014_x86_64"]);
        assert_eq!(platforms((2, 34), "aarch64"), ["manylinux_2_34_aarch64"]);
    }
}
