//! What can be typed after `cargo xtask bench`.

use std::path::PathBuf;

pub const HELP: &str = "\
Usage: cargo xtask bench [OPTIONS]

  --quick          fewer rounds: a first look, not figures to publish
  --json FILE      write every sample to FILE
  --only NAME      measure only this; may be repeated
  --profile NAME   release (default) or debug
  --no-build       measure what is already built
";

/// How this run measures.
#[derive(Debug, Default)]
pub struct Options {
    pub quick: bool,
    pub json: Option<PathBuf>,
    pub only: Vec<String>,
    pub profile: Profile,
    pub no_build: bool,
    pub help: bool,
}

/// Which build is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    #[default]
    Release,
    Debug,
}

impl Profile {
    /// The name of its folder below `target`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Release => "release",
            Self::Debug => "debug",
        }
    }
}

impl Options {
    /// Reads the arguments; `names` are the measurements that exist.
    pub fn parse(arguments: &[String], names: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(flag) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("{flag} needs a value\n\n{HELP}"));
            match flag.as_str() {
                "--quick" => options.quick = true,
                "--no-build" => options.no_build = true,
                "--help" | "-h" => options.help = true,
                "--json" => options.json = Some(value()?.into()),
                "--only" => {
                    let name = value()?;
                    if !names.contains(&name.as_str()) {
                        let names = names.join(", ");
                        return Err(format!("no measurement is called '{name}', only {names}"));
                    }
                    options.only.push(name.clone());
                }
                "--profile" => {
                    options.profile = match value()?.as_str() {
                        "release" => Profile::Release,
                        "debug" => Profile::Debug,
                        other => {
                            return Err(format!("--profile is release or debug, not '{other}'"));
                        }
                    };
                }
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        Ok(options)
    }

    /// Whether this measurement was asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments, &["hello", "rows"])
    }

    #[test]
    fn only_what_was_asked_for_is_wanted() {
        let options = parse("--quick --only rows").unwrap_or_default();
        assert!(options.quick && options.wants("rows") && !options.wants("hello"));
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let message = parse("--only row").map(|_| ()).err().unwrap_or_default();
        assert_eq!(message, "no measurement is called 'row', only hello, rows");
    }
}
