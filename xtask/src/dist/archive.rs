//! The archive for users who want no package: `onecall-VERSION-TARGET.tar.gz`.

use super::binary::Binary;
use super::contents::{File, Release};
use super::gzip::{Effort, compress};
use super::tar;

/// The name of the archive, and its bytes.
pub fn package(
    release: &Release,
    binary: &Binary,
    effort: Effort,
) -> Result<(String, Vec<u8>), String> {
    let name = format!("onecall-{}-{}-unknown-linux-gnu", release.version, binary.processor.name());
    let content = binary.content.clone();
    let mut files = vec![File { path: "onecall".to_owned(), mode: 0o755, content }];
    files.push(release.readme.clone());
    files.extend(release.licences.iter().cloned());
    files.extend(release.completions.iter().map(|file| {
        let path = format!("completions/onecall.{}", file.path);
        File { path, ..file.clone() }
    }));
    files.extend(release.pages.iter().map(|page| page.below("man/man1")));
    let files: Vec<File> = files.iter().map(|file| file.below(&name)).collect();
    Ok((format!("{name}.tar.gz"), compress(&tar::archive(&files, release.time)?, effort)?))
}
