//! The npm package: `onecall-VERSION.tgz`, with the binaries of all processors and a script that
//! executes the right one.

use serde_json::json;

use super::binary::Binary;
use super::contents::{File, LICENCE, Release, SUMMARY};
use super::gzip::{Effort, compress};
use super::tar;

/// Uses `exec`, so that there is no process in between: signals, streams and the exit code are
/// those of onecall. Node.js could only start a child, which would outlive a killed parent.
const LAUNCHER: &str = r#"#!/bin/sh
folder=$(dirname "$(readlink -f "$0")")
processor=$(uname -m)
if ! [ -x "$folder/$processor/onecall" ]; then
    echo "onecall: this package has no binary for the processor $processor" >&2
    exit 1
fi
exec "$folder/$processor/onecall" "$@"
"#;

/// The name of the package, and its bytes.
pub fn package(
    release: &Release,
    binaries: &[Binary],
    effort: Effort,
) -> Result<(String, Vec<u8>), String> {
    let processors: Vec<&str> =
        binaries.iter().map(|binary| binary.processor.name_in_npm()).collect();
    let about = json!({
        "name": "onecall",
        "version": release.version,
        "description": SUMMARY,
        "license": LICENCE,
        "bin": { "onecall": "bin/onecall" },
        "os": ["linux"],
        "cpu": processors,
        "libc": ["glibc"],
    });
    let mut files = vec![
        File::new("package.json", 0o644, format!("{about:#}\n")),
        File::new("README.md", 0o644, release.about.clone()),
        File::new("bin/onecall", 0o755, LAUNCHER),
    ];
    files.extend(release.licences.iter().cloned());
    for binary in binaries {
        let path = format!("bin/{}/onecall", binary.processor.name());
        files.push(File { path, mode: 0o755, content: binary.content.clone() });
    }
    let files: Vec<File> = files.iter().map(|file| file.below("package")).collect();
    let archive = compress(&tar::archive(&files, release.time)?, effort)?;
    Ok((format!("onecall-{}.tgz", release.version), archive))
}
