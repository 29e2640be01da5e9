//! The command line of `cargo xtask quality`.

use super::PARTS;

pub const HELP: &str = "\
Usage: cargo xtask quality [OPTIONS]

Runs tasks, programs and tests that others wrote, or that were written without looking at
the answer, and counts what works. Needs no model; once its packages are installed, it
needs no network.

  --part NAME  only this part; may be repeated
  --sample     a small part of everything, in less than a minute
  --publish    write docs/quality.md
  --profile P  the build profile of the binaries: dist unless told otherwise, as they are
               handed out, or debug for a sample
  --no-build   use what is built already
";

/// What to run.
#[derive(Debug, Default)]
pub struct Options {
    pub parts: Vec<String>,
    pub sample: bool,
    pub publish: bool,
    /// The build profile of the binary that is tried, if it is not the usual one.
    pub profile: Option<String>,
    pub no_build: bool,
    pub help: bool,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--part" => {
                    let name = arguments.next().ok_or("--part needs a name")?;
                    if !PARTS.iter().any(|part| part.name == name) {
                        let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
                        return Err(format!(
                            "no part is called '{name}', only {}",
                            names.join(", ")
                        ));
                    }
                    options.parts.push(name.clone());
                }
                "--sample" => options.sample = true,
                "--publish" => options.publish = true,
                "--profile" => {
                    options.profile =
                        Some(arguments.next().ok_or("--profile needs a name")?.clone());
                }
                "--no-build" => options.no_build = true,
                "--help" | "-h" => options.help = true,
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        if options.publish && (options.sample || !options.parts.is_empty()) {
            return Err("--publish does not go with --part or --sample".to_owned());
        }
        Ok(options)
    }

    /// The build profile of the binary that is tried.
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or(if self.sample { "debug" } else { "dist" })
    }

    /// Whether this part was requested.
    pub fn wants(&self, name: &str) -> bool {
        self.parts.is_empty() || self.parts.iter().any(|wanted| wanted == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments)
    }

    #[test]
    fn only_requested_parts_run() {
        let options = parse("--part bfcl --sample").unwrap_or_default();
        assert!(options.wants("bfcl") && !options.wants("agentdojo") && options.sample);
        assert!(Options::default().wants("agentdojo"));
    }

    #[test]
    fn the_binary_that_is_handed_out_is_tried_unless_another_is_named() {
        let profile = |line| parse(line).map(|options| options.profile().to_owned());
        assert_eq!(profile(""), Ok("dist".to_owned()));
        assert_eq!(profile("--sample"), Ok("debug".to_owned()));
        assert_eq!(profile("--publish"), Ok("dist".to_owned()));
        assert_eq!(profile("--publish --profile release"), Ok("release".to_owned()));
    }

    #[test]
    fn a_part_is_not_published() {
        let message = |line| parse(line).map(|_| ()).err();
        let refused = Some("--publish does not go with --part or --sample".to_owned());
        assert_eq!(message("--publish --sample"), refused);
        assert_eq!(message("--publish --part bfcl"), refused);
    }
}
