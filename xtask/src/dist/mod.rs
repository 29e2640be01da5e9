//! `cargo xtask dist`: creates the packages of a release, and checks each of them in an empty
//! environment.

mod archive;
mod binary;
mod build;
mod check;
mod checksums;
mod contents;
mod deb;
mod filter;
mod gzip;
mod npm;
mod options;
mod sizes;
mod tar;
mod wheel;
mod zip;

use std::fs;
use std::path::{Path, PathBuf};

use testkit::cargo::output;

use crate::sbom;
use binary::Binary;
use contents::Release;
use gzip::Effort;
use options::Options;

/// Creates the packages as the arguments say.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let Some(options) = Options::parse(arguments)? else {
        eprint!("{}", options::HELP);
        return Ok(());
    };
    let built = if options.binaries.is_empty() { build::build()? } else { options.binaries };
    if options.sizes {
        return built.iter().try_for_each(|binary| sizes::print(binary));
    }
    let packages = pack(&built, &options.out, options.effort)?;
    if options.check {
        check::run(&packages)?;
    }
    Ok(())
}

/// Packs the debug binary and checks the packages; `cargo xtask test` runs this.
pub fn test() -> Result<(), String> {
    let out = output("dist").join("tested");
    check::run(&pack(&[output("debug").join("onecall")], &out, Effort::Little)?)
}

/// The packages of one run.
pub struct Packages {
    /// The version of the packages.
    pub version: String,
    /// One archive, Debian package and wheel for each processor.
    pub of_processors: Vec<PackagesOfProcessor>,
    /// One npm package with the binaries of all processors.
    pub npm: PathBuf,
}

/// The packages that contain the binary of one processor.
pub struct PackagesOfProcessor {
    pub binary: Binary,
    pub archive: PathBuf,
    pub deb: PathBuf,
    pub wheel: PathBuf,
}

/// Creates all packages, the bill of materials and the checksums in an empty folder.
fn pack(binaries: &[PathBuf], out: &Path, effort: Effort) -> Result<Packages, String> {
    let binaries =
        binaries.iter().map(|path| Binary::read(path)).collect::<Result<Vec<_>, String>>()?;
    let release = Release::describe(&binaries)?;
    make_empty(out)?;
    let write = |(name, bytes): (String, Vec<u8>)| {
        let path = out.join(name);
        fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok::<PathBuf, String>(path)
    };
    let npm = write(npm::package(&release, &binaries, effort)?)?;
    let mut of_processors = Vec::new();
    for binary in binaries {
        eprintln!("{}", binary.needs());
        of_processors.push(PackagesOfProcessor {
            archive: write(archive::package(&release, &binary, effort)?)?,
            deb: write(deb::package(&release, &binary, effort)?)?,
            wheel: write(wheel::package(&release, &binary, effort)?)?,
            binary,
        });
    }
    let bill = out.join(format!("onecall-{}.cdx.json", release.version));
    sbom::run(&[bill.display().to_string()])?;
    eprintln!("{}", checksums::write(out)?);
    Ok(Packages { version: release.version, of_processors, npm })
}

/// Creates a folder, or removes what an earlier run left in it.
fn make_empty(folder: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_ours = name.starts_with("onecall") || name == checksums::FILE;
        if !is_ours || !path.is_file() {
            return Err(format!(
                "{} is not of an earlier run: choose another --out",
                path.display()
            ));
        }
        fs::remove_file(&path).map_err(failed)?;
    }
    Ok(())
}
