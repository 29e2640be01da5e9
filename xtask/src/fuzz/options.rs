//! The command line of `cargo xtask fuzz`.

use std::time::Duration;

use super::target::{TARGETS, Target};

pub const HELP: &str = "\
Usage: cargo xtask fuzz [--minutes N] [TARGET]

Runs the property tests of TARGET, or of all targets in turn, with fresh seeds and
many cases, round after round until the time is over or a property fails.

  frames          what a worker sends to the gateway
  configuration   configuration files
  clients         configuration files of MCP clients
  answers         what a server sends to the gateway
  definitions     tools that files and types are made from
  policies        policies, and calls that they decide about

  --minutes N     how long; 10 if left out

A failure is shown with the smallest input that makes it and a command that makes it
again. No seeds are kept in files: put the smallest input into an ordinary test beside
the fix.
";

/// How long to search, and in which targets.
#[derive(Debug)]
pub struct Options {
    pub time: Duration,
    pub targets: Vec<&'static Target>,
    pub help: bool,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self { time: Duration::from_secs(600), targets: Vec::new(), help: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--minutes" => {
                    let minutes = arguments.next().and_then(|value| value.parse::<f64>().ok());
                    let time =
                        minutes.and_then(|value| Duration::try_from_secs_f64(60.0 * value).ok());
                    options.time = time.ok_or("--minutes needs a number")?;
                }
                "--help" | "-h" => options.help = true,
                name => options.targets.push(target(name)?),
            }
        }
        if options.targets.is_empty() {
            options.targets = TARGETS.iter().collect();
        }
        Ok(options)
    }
}

fn target(name: &str) -> Result<&'static Target, String> {
    TARGETS.iter().find(|target| target.name == name).ok_or_else(|| {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        format!("no target is called '{name}', only {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<(Duration, Vec<&'static str>), String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&arguments)?;
        Ok((options.time, options.targets.iter().map(|target| target.name).collect()))
    }

    #[test]
    fn all_targets_for_ten_minutes_unless_said_otherwise() {
        let all = vec!["frames", "configuration", "clients", "answers", "definitions", "policies"];
        assert_eq!(parse(""), Ok((Duration::from_secs(600), all)));
        assert_eq!(parse("--minutes 0.5 answers"), Ok((Duration::from_secs(30), vec!["answers"])));
    }

    #[test]
    fn mistakes_are_answered_with_what_is_right() {
        let error = |message: &str| Err(message.to_owned());
        assert_eq!(
            parse("frame"),
            error(
                "no target is called 'frame', only frames, configuration, clients, answers, definitions, policies"
            )
        );
        for line in ["--minutes", "--minutes x", "--minutes -1", "--minutes inf"] {
            assert_eq!(parse(line), error("--minutes needs a number"), "{line}");
        }
    }

    #[test]
    fn the_help_names_every_target() {
        for target in &TARGETS {
            assert!(HELP.contains(&format!("\n  {} ", target.name)), "{}", target.name);
        }
    }
}
