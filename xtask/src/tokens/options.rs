//! The command line of `cargo xtask tokens`.

use std::path::PathBuf;

use super::figures::Prices;

pub const HELP: &str = "\
Usage: cargo xtask tokens [OPTIONS]

Runs workflows twice through real MCP, with an agent that calls every tool itself and
with one that writes programs for onecall, checks that both arrive at the same answer,
and counts what passes through the model.

  --workflow NAME      only this workflow; may be repeated
  --tools N[,N…]       sizes of the catalog; 10,30,100,500 if left out
  --calls-per-turn N   independent calls that a model makes at once; 5 if left out
  --price-in DOLLARS   for a million tokens of input; 3.00 if left out
  --price-out DOLLARS  for a million tokens of output; 15.00 if left out
  --price-cached DOLLARS
                       for a million tokens that the request before had; 0.30 if left out
  --json FILE          write every figure to FILE
  --publish            put the tables into docs/tokens.md and README.md
  --no-build           measure what is built already
";

/// The sizes of the catalog in the tables.
const SIZES: [usize; 4] = [10, 30, 100, 500];

/// What to count, and how.
#[derive(Debug)]
pub struct Options {
    pub workflows: Vec<String>,
    pub tools: Vec<usize>,
    pub calls_per_turn: usize,
    pub prices: Prices,
    pub json: Option<PathBuf>,
    pub publish: bool,
    pub no_build: bool,
    pub help: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            workflows: Vec::new(),
            tools: SIZES.to_vec(),
            calls_per_turn: 5,
            prices: Prices::default(),
            json: None,
            publish: false,
            no_build: false,
            help: false,
        }
    }
}

impl Options {
    pub fn parse(arguments: &[String], names: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--workflow" => {
                    let name = value()?;
                    if !names.contains(&name.as_str()) {
                        let names = names.join(", ");
                        return Err(format!("no workflow is called '{name}', only {names}"));
                    }
                    options.workflows.push(name.clone());
                }
                "--tools" => {
                    let sizes = value()?.split(',').map(|size| number(argument, size));
                    options.tools = sizes.collect::<Result<_, _>>()?;
                }
                "--calls-per-turn" => options.calls_per_turn = number(argument, value()?)?,
                "--price-in" => options.prices.input = number(argument, value()?)?,
                "--price-out" => options.prices.output = number(argument, value()?)?,
                "--price-cached" => options.prices.cached = number(argument, value()?)?,
                "--json" => options.json = Some(value()?.into()),
                "--publish" => options.publish = true,
                "--no-build" => options.no_build = true,
                "--help" | "-h" => options.help = true,
                unknown => return Err(format!("unknown option '{unknown}'\n\n{HELP}")),
            }
        }
        if options.publish && !options.is_default() {
            return Err("--publish does not go with options that change what is counted".to_owned());
        }
        Ok(options)
    }

    /// Whether everything is counted with the options that the documents describe.
    pub fn is_default(&self) -> bool {
        let usual = Self::default();
        (&self.workflows, &self.tools, self.calls_per_turn, self.prices)
            == (&usual.workflows, &usual.tools, usual.calls_per_turn, usual.prices)
    }

    /// Whether this workflow was requested.
    pub fn wants(&self, name: &str) -> bool {
        self.workflows.is_empty() || self.workflows.iter().any(|wanted| wanted == name)
    }
}

fn number<T: std::str::FromStr>(flag: &str, text: &str) -> Result<T, String> {
    text.trim().parse().map_err(|_| format!("{flag} needs a number, not '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments, &["order-lookup", "flaky-test"])
    }

    #[test]
    fn only_what_was_asked_for_is_counted() {
        let options =
            parse("--workflow flaky-test --tools 10,100 --price-out 10").unwrap_or_default();
        assert!(options.wants("flaky-test") && !options.wants("order-lookup"));
        assert_eq!(options.tools, [10, 100]);
        assert_eq!(options.prices, Prices { output: 10.0, ..Prices::default() });
    }

    #[test]
    fn a_part_is_not_published() {
        let message = |line| parse(line).map(|_| ()).err().unwrap_or_default();
        let usual = "--publish does not go with options that change what is counted";
        assert_eq!(message("--publish --tools 10"), usual);
        assert_eq!(message("--publish --price-in 1"), usual);
        assert_eq!(
            message("--workflow flaky"),
            "no workflow is called 'flaky', only order-lookup, flaky-test"
        );
        assert_eq!(message("--tools ten"), "--tools needs a number, not 'ten'");
    }
}
