//! The command line of `cargo xtask bench`.

use std::path::PathBuf;

pub const HELP: &str = "\
Usage: cargo xtask bench [OPTIONS]

  --quick          fewer rounds: a first look, not figures to publish
  --json FILE      write every sample to FILE
  --only NAME      measure only this; may be repeated
  --growth         measure how the same work grows from size 1 to 10,000, and nothing else
  --publish        measure everything, growth too, and write docs/benchmarks.md, its chart
                   and data, and the table of the README; wants a quiet machine
  --profile NAME   release (default), debug, or dist, which is what is handed out, takes longest
                   to build and is what --publish measures
  --no-build       measure what is already built
";

/// The options of this run.
#[derive(Debug, Default)]
pub struct Options {
    pub quick: bool,
    pub json: Option<PathBuf>,
    pub only: Vec<String>,
    pub growth: bool,
    pub publish: bool,
    profile: Option<Profile>,
    pub no_build: bool,
    pub help: bool,
}

/// Which build is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    Dist,
    Release,
    Debug,
}

impl Profile {
    /// The name of its folder below `target`.
    pub fn folder(self) -> &'static str {
        match self {
            Self::Dist => "dist",
            Self::Release => "release",
            Self::Debug => "debug",
        }
    }
}

impl Options {
    /// Parses the arguments; `names` are the existing measurements.
    pub fn parse(arguments: &[String], names: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(flag) = arguments.next() {
            let mut value =
                || arguments.next().ok_or_else(|| format!("{flag} needs a value\n\n{HELP}"));
            match flag.as_str() {
                "--quick" => options.quick = true,
                "--no-build" => options.no_build = true,
                "--growth" => options.growth = true,
                "--publish" => options.publish = true,
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
                    let profiles = [Profile::Dist, Profile::Release, Profile::Debug];
                    let name = value()?;
                    let named = profiles.into_iter().find(|profile| profile.folder() == name);
                    options.profile = Some(named.ok_or_else(|| {
                        format!("--profile is dist, release or debug, not '{name}'")
                    })?);
                }
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        let is_partial = options.quick || options.growth || !options.only.is_empty();
        if options.publish && (is_partial || options.profile.is_some()) {
            return Err("--publish is for a whole run of what is handed out: leave out --quick, \
                        --only, --growth and --profile"
                .to_owned());
        }
        Ok(options)
    }

    /// Which build is measured.
    pub fn profile(&self) -> Profile {
        let usual = if self.publish { Profile::Dist } else { Profile::Release };
        self.profile.unwrap_or(usual)
    }

    pub fn wants_growth(&self) -> bool {
        self.growth || self.publish
    }

    /// Whether this measurement was requested.
    pub fn wants(&self, name: &str) -> bool {
        let everything = self.only.is_empty() && !self.growth;
        everything || self.only.iter().any(|only| only == name)
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
    fn growth_comes_alone_unless_everything_is_published() {
        let wants = |line: &str| {
            let options = parse(line).unwrap_or_default();
            (options.wants("rows"), options.wants_growth())
        };
        assert_eq!(wants("--growth"), (false, true));
        assert_eq!(wants(""), (true, false));
        assert_eq!(wants("--publish"), (true, true));
        assert_eq!(parse("--publish").unwrap_or_default().profile(), Profile::Dist);
        for partial in ["--quick", "--growth", "--only rows", "--profile debug"] {
            assert!(parse(&format!("--publish {partial}")).is_err(), "{partial}");
        }
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let message = parse("--only row").map(|_| ()).err().unwrap_or_default();
        assert_eq!(message, "no measurement is called 'row', only hello, rows");
    }
}
