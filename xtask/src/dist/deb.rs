//! The Debian package: `onecall_VERSION_ARCHITECTURE.deb`, written without the tools of Debian.

use super::binary::Binary;
use super::contents::{File, LICENCE, Release, SUMMARY};
use super::filter::pipe_through;
use super::gzip::{Effort, compress};
use super::tar;

/// The paths where shells look for the completions of packages.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "usr/share/bash-completion/completions/onecall"),
    ("zsh", "usr/share/zsh/vendor-completions/_onecall"),
    ("fish", "usr/share/fish/vendor_completions.d/onecall.fish"),
];

const DOCUMENTS: &str = "usr/share/doc/onecall";

/// The name of the package, and its bytes.
pub fn package(
    release: &Release,
    binary: &Binary,
    effort: Effort,
) -> Result<(String, Vec<u8>), String> {
    let files = files(release, binary, effort)?;
    let control = [
        File::new("./control", 0o644, control(release, binary, &files)),
        File::new("./md5sums", 0o644, md5sums(&files)?),
    ];
    let files: Vec<File> = files.iter().map(|file| file.below(".")).collect();
    let parts = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", compress(&tar::archive(&control, release.time)?, effort)?),
        ("data.tar.gz", compress(&tar::archive(&files, release.time)?, effort)?),
    ];
    let name = format!("onecall_{}_{}.deb", release.version, binary.processor.name_in_debian());
    Ok((name, ar(&parts, release.time)))
}

/// The files that the package installs. Debian requires compressed man pages and long texts.
fn files(release: &Release, binary: &Binary, effort: Effort) -> Result<Vec<File>, String> {
    let content = binary.content.clone();
    let mut files = vec![File { path: "usr/bin/onecall".to_owned(), mode: 0o755, content }];
    for completion in &release.completions {
        let place = COMPLETIONS.iter().find(|(shell, _)| *shell == completion.path);
        files.extend(place.map(|(_, path)| File { path: (*path).into(), ..completion.clone() }));
    }
    for page in &release.pages {
        let path = format!("usr/share/man/man1/{}.gz", page.path);
        files.push(File::new(path, 0o644, compress(&page.content, effort)?));
    }
    for licence in &release.licences {
        let (path, text) = (format!("{DOCUMENTS}/{}", licence.path), &licence.content);
        files.push(match licence.path.as_str() {
            "THIRD-PARTY.txt" => File::new(format!("{path}.gz"), 0o644, compress(text, effort)?),
            _ => licence.below(DOCUMENTS),
        });
    }
    files.push(File::new(format!("{DOCUMENTS}/copyright"), 0o644, copyright()));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

fn control(release: &Release, binary: &Binary, files: &[File]) -> String {
    let kilobytes: usize = files.iter().map(|file| file.content.len().div_ceil(1024)).sum();
    let (major, minor) = binary.glibc;
    format!(
        "Package: onecall\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The onecall contributors <onecall@packages.invalid>\n\
         Installed-Size: {kilobytes}\n\
         Depends: libc6 (>= {major}.{minor})\n\
         Recommends: ca-certificates\n\
         Section: utils\n\
         Priority: optional\n\
         Description: {SUMMARY}\n \
         A model writes one small Python or TypeScript program; onecall runs it in a\n \
         sandbox with every bridged tool as a function, and only what it prints goes back.\n",
        version = release.version,
        architecture = binary.processor.name_in_debian(),
    )
}

/// The checksums for `dpkg --verify`.
fn md5sums(files: &[File]) -> Result<String, String> {
    let line = |file: &File| {
        let sum = pipe_through("md5sum", &[], &file.content)?;
        let sum = String::from_utf8_lossy(&sum).split_whitespace().next().map(str::to_owned);
        Ok(format!("{}  {}\n", sum.unwrap_or_default(), file.path))
    };
    files.iter().map(line).collect()
}

/// The copyright file, in the format of Debian's tools.
fn copyright() -> String {
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: onecall\n\
         Comment: The binary contains packages of others under licences of their own,\n \
         which are in {DOCUMENTS}/THIRD-PARTY.txt.gz.\n\
         \n\
         Files: *\n\
         Copyright: 2026 The onecall contributors\n\
         License: {licence}\n \
         The texts are in {DOCUMENTS}/LICENSE-MIT and\n \
         {DOCUMENTS}/LICENSE-APACHE.\n",
        licence = LICENCE.replace("OR", "or").replace("MIT", "Expat"),
    )
}

/// The outer archive: a header of fixed width before each part, and even lengths.
fn ar(parts: &[(&str, Vec<u8>)], time: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, content) in parts {
        let length = content.len();
        archive.extend(format!("{name:<16}{time:<12}0     0     100644  {length:<10}`\n").bytes());
        archive.extend_from_slice(content);
        if length % 2 == 1 {
            archive.push(b'\n');
        }
    }
    archive
}
