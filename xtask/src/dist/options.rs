//! The command line of `cargo xtask dist`.

use std::path::PathBuf;

use testkit::cargo::output;

use super::gzip::Effort;

pub const HELP: &str = "\
Usage: cargo xtask dist [OPTIONS]

Builds onecall with the profile `dist` and packs it: an archive, a Debian package and a PyPI wheel for
each processor, one npm package, a bill of materials and SHA256SUMS. It links for glibc 2.17 with zig,
which it installs from PyPI below target/; without zig, the packages need the glibc of this machine and
say so. A processor whose Rust standard library is not installed is skipped.

  --binary FILE  pack this onecall instead of building one; once for each processor
  --out DIR      where the packages go (default: target/dist/packages)
  --check        install every package in a clean place, and run a program over MCP with each
  --sizes        print what takes the space in the binary, and pack nothing
  --fast         compress little, which is quick
";

/// What to pack, and where to write it.
#[derive(Debug, PartialEq)]
pub struct Options {
    /// Binaries that were built before; if empty, they are built.
    pub binaries: Vec<PathBuf>,
    pub out: PathBuf,
    pub check: bool,
    pub sizes: bool,
    pub effort: Effort,
}

impl Options {
    /// Parses the arguments; `None` if the help is requested.
    pub fn parse(arguments: &[String]) -> Result<Option<Self>, String> {
        let mut options = Self {
            binaries: Vec::new(),
            out: output("dist").join("packages"),
            check: false,
            sizes: false,
            effort: Effort::Most,
        };
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            // Installers run in other folders, so paths must be absolute.
            let mut path = || {
                let given = rest.next().ok_or(format!("{argument} needs a path\n\n{HELP}"))?;
                std::path::absolute(given).map_err(|error| format!("{given}: {error}"))
            };
            match argument.as_str() {
                "--binary" => options.binaries.push(path()?),
                "--out" => options.out = path()?,
                "--check" => options.check = true,
                "--sizes" => options.sizes = true,
                "--fast" => options.effort = Effort::Little,
                "--help" | "-h" => return Ok(None),
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Option<Options>, String> {
        Options::parse(&arguments.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = parse(&["--binary", "/a", "--binary", "/b", "--out", "/o", "--fast"]);
        let options = options.expect("options").expect("no help");
        assert_eq!(options.binaries, [PathBuf::from("/a"), PathBuf::from("/b")]);
        assert_eq!((options.out, options.effort), (PathBuf::from("/o"), Effort::Little));
        assert_eq!(parse(&["--check", "--help"]), Ok(None));
        for (wrong, reason) in
            [("--binary", "--binary needs a path"), ("-x", "unknown option '-x'")]
        {
            assert!(parse(&[wrong]).is_err_and(|error| error.starts_with(reason)), "{wrong}");
        }
    }
}
