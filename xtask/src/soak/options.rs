//! The command line of `cargo xtask soak`.

use std::time::Duration;

pub const HELP: &str = "\
Usage: cargo xtask soak [--minutes N] [--profile release|debug] [--no-build]

Runs mixed programs against two gateways, one over stdio and one over HTTP, at the rate
the machine allows, while servers crash, clients leave and workers are killed. Every
program carries a number that has to come back. Ends by itself, with a report that says
what broke.

  --minutes N      how long; 5 if left out
  --profile NAME   which build: release (default) or debug
  --no-build       take what is already built
";

/// How long to run, and which build.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    pub time: Duration,
    pub release: bool,
    pub build: bool,
    pub help: bool,
}

impl Options {
    pub fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options =
            Self { time: Duration::from_secs(300), release: true, build: true, help: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--minutes" => {
                    let minutes = arguments.next().and_then(|value| value.parse::<f64>().ok());
                    let time =
                        minutes.and_then(|value| Duration::try_from_secs_f64(60.0 * value).ok());
                    options.time = time.ok_or("--minutes needs a number")?;
                }
                "--profile" => {
                    options.release = match arguments.next().map(String::as_str) {
                        Some("release") => true,
                        Some("debug") => false,
                        _ => return Err("--profile is release or debug".to_owned()),
                    };
                }
                "--no-build" => options.build = false,
                "--help" | "-h" => options.help = true,
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        Ok(options)
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
    fn five_minutes_of_the_release_build_unless_said_otherwise() {
        let seconds = |time, release| {
            let time = Duration::from_secs(time);
            Ok(Options { time, release, build: true, help: false })
        };
        assert_eq!(parse(""), seconds(300, true));
        assert_eq!(parse("--minutes 0.5 --profile debug"), seconds(30, false));
        assert_eq!(parse("--minutes x"), Err("--minutes needs a number".to_owned()));
    }
}
