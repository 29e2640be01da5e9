//! A binary for the packages: its platform, and what it requires of a system.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use testkit::cargo::output;
use testkit::empty_root::is_of_glibc;

/// Version of glibc.
pub type Glibc = (u32, u32);

/// A processor that onecall is released for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    /// The processor in the header of an executable.
    fn of(executable: &[u8]) -> Option<Self> {
        let header = executable.strip_prefix(b"\x7fELF")?;
        match header.get(14..16)? {
            [0x3e, 0] => Some(Self::X86_64),
            [0xb7, 0] => Some(Self::Aarch64),
            _ => None,
        }
    }

    /// The name that Linux, Rust and PyPI have for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    pub fn name_in_debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
        }
    }

    pub fn name_in_npm(self) -> &'static str {
        match self {
            Self::X86_64 => "x64",
            Self::Aarch64 => "arm64",
        }
    }

    /// Whether this machine has this processor.
    pub fn is_here(self) -> bool {
        std::env::consts::ARCH == self.name()
    }
}

/// A binary without symbols.
pub struct Binary {
    pub path: PathBuf,
    pub processor: Processor,
    /// The oldest glibc that it runs on.
    pub glibc: Glibc,
    pub content: Arc<[u8]>,
    libraries: BTreeSet<String>,
}

impl Binary {
    /// Copies the binary without symbols, and reads what it requires.
    pub fn read(path: &Path) -> Result<Self, String> {
        let failed = |error| format!("{}: {error}", path.display());
        let processor = Processor::of(&fs::read(path).map_err(failed)?)
            .ok_or_else(|| format!("{} is no executable for Linux", path.display()))?;
        let stripped = strip(path, processor)?;
        let (libraries, glibc) = read_needs(&stripped)?;
        if let Some(other) = libraries.iter().find(|name| !is_of_glibc(Path::new(name))) {
            return Err(format!("{} needs {other}, which is not of glibc", path.display()));
        }
        let content = fs::read(&stripped).map_err(failed)?.into();
        Ok(Self { path: stripped, processor, glibc, content, libraries })
    }

    /// One line about the binary and its requirements.
    pub fn needs(&self) -> String {
        let (major, minor) = self.glibc;
        let libraries: Vec<&str> = self.libraries.iter().map(String::as_str).collect();
        let mut line =
            format!("onecall for {}: {}", self.processor.name(), size(self.content.len()));
        let _ = write!(line, ", needs glibc {major}.{minor} ({})", libraries.join(", "));
        line
    }
}

/// A number of bytes for a person.
pub fn size(bytes: usize) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

/// Copies the binary without its symbols.
fn strip(path: &Path, processor: Processor) -> Result<PathBuf, String> {
    let folder = output("dist").join("stripped").join(processor.name());
    let copy = folder.join("onecall");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut strip = Command::new("strip");
    strip.args(["--strip-all", "-o"]).arg(&copy).arg(path);
    let why = match strip.output() {
        Ok(output) if output.status.success() => {
            // A downloaded binary may have lost this permission.
            let is_executable = fs::set_permissions(&copy, Permissions::from_mode(0o755));
            is_executable.map_err(|error| format!("{}: {error}", copy.display()))?;
            return Ok(copy);
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => format!("strip cannot be started: {error}"),
    };
    eprintln!("skipped: {} is packed with the symbols that it has: {why}", path.display());
    Ok(path.to_path_buf())
}

/// The libraries that an executable is linked to, and the newest version of glibc that it requires.
fn read_needs(path: &Path) -> Result<(BTreeSet<String>, Glibc), String> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--dynamic", "--version-info"]).arg(path).env("LC_ALL", "C");
    let output = readelf.output().map_err(|error| format!("readelf cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("readelf {}: {}", path.display(), output.status));
    }
    let needs = needs_in(&String::from_utf8_lossy(&output.stdout));
    needs.ok_or_else(|| format!("{} is not linked to glibc", path.display()))
}

fn needs_in(listed: &str) -> Option<(BTreeSet<String>, Glibc)> {
    let libraries = listed.lines().filter(|line| line.contains("(NEEDED)"));
    let libraries = libraries.filter_map(|line| line.split(['[', ']']).nth(1)).map(str::to_owned);
    let versions = listed.split_whitespace().filter_map(|word| {
        let (major, minor) = word.strip_prefix("GLIBC_")?.split_once('.')?;
        let minor = minor.split_once('.').map_or(minor, |(minor, _)| minor);
        Some((major.parse().ok()?, minor.parse().ok()?))
    });
    Some((libraries.collect(), versions.max()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_binary_needs_is_read() {
        let listed = "
 0x0001 (NEEDED)             Shared library: [libm.so.6]
 0x0001 (NEEDED)             Shared library: [libc.so.6]
 0x000e (SONAME)             Library soname: [other]
  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 5
  0x0020:   Name: GLIBC_2.17  Flags: none  Version: 4
  0x0030:   Name: GLIBC_2.2.5  Flags: none  Version: 3
";
        let (libraries, glibc) = needs_in(listed).expect("glibc");
        assert_eq!(Vec::from_iter(libraries), ["libc.so.6", "libm.so.6"]);
        assert_eq!(glibc, (2, 17));
        assert_eq!(needs_in("There is no dynamic section in this file."), None);
    }

    #[test]
    fn the_processor_is_in_the_header() {
        let mut header = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xb7\0".to_vec();
        assert_eq!(Processor::of(&header), Some(Processor::Aarch64));
        header[18] = 0x3e;
        assert_eq!(Processor::of(&header), Some(Processor::X86_64));
        assert_eq!(Processor::of(b"#!/bin/sh\n and more of it"), None);
        assert_eq!(Processor::of(b"\x7fELF"), None);
    }
}
