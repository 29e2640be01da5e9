//! The two places where results are published: `docs/benchmarks.md`, and a part of the README
//! between two marks.

use super::super::comparison::{Comparison, Detail};
use super::super::growth;
use super::provenance::Provenance;

/// The benchmark writes the text between these lines of the README.
pub const BEGIN: &str = "<!-- benchmark -->";
pub const END: &str = "<!-- /benchmark -->";

/// The paths of the other files, relative to the top of the workspace.
pub const PAGE: &str = "docs/benchmarks.md";
pub const CHART: &str = "docs/benchmarks.svg";
pub const DATA: &str = "docs/benchmarks.json";

const INTRODUCTION: &str = "\
Everything here was measured in one run, on one machine, in front of the same fixture server over
stdio. Each kind of work is done in rounds in which everybody has a turn; a cell has the median, the
quartiles, and how many times the default engine of onecall that is. Absolute times of a shared
machine mean little; ratios of one run mean more. `benchmarks.json` beside this file has the samples.

Times are what a client sees: from the first byte of its request to the last byte of the answer. A
program in front of a bare client's calls cannot be free, so the limit is what nobody can reach.
Memory counts every process of a server but the one that it calls, pages that several share in parts.
";

const OTHERS: &str = "\
More was looked at when the list of peers was made. npm did not have `@utcp/code-mode-mcp`, `codemesh`,
`mcpcodeserver` and `code-executor-mcp` for us; `mcp-codemode` 0.0.4 did not import with the newest
`code-sandboxes`, which it asks for; in `code-mode` 1.1.0 from PyPI a program with a `for` loop failed;
`@cloudflare/codemode` is a library for Cloudflare's own platform.
";

const GROWTH: &str = "\
The same work in sizes from 1 to 10,000. The exponent is that of the line through all sizes that take
half as long again as the smallest, by least squares on the logarithms after the time of the smallest
is taken off (of the fastest round: what else the machine does only adds): 1 is linear, less is better,
and “constant” means that the size does not show. The last step is the exponent between the two largest
sizes. Above 1.1 counts as worse than linear; where the last step is not above it, the work grows
linearly once it is large, and the small sizes were too short to be told from noise.
";

/// The whole page.
pub fn page(
    made: &Provenance,
    header: &[String],
    comparison: &Comparison,
    growth: &growth::Report,
    details: &str,
) -> String {
    let machine: Vec<String> = header.iter().map(|line| format!("- {line}")).collect();
    let line = made.to_line();
    format!(
        "# Benchmarks\n\n{INTRODUCTION}\nMade by `{}`, at commit `{}`, on {}:\n\n{}\n\n\
         ## The field\n\n![How many times onecall's time and memory others need](benchmarks.svg)\n\n\
         {line}\n\n{}\n{}\n{OTHERS}\n## Growth\n\n{GROWTH}\n{line}\n\n{}\n\
         ## In detail\n\n{line}\n{details}\n",
        made.command,
        made.commit,
        made.date,
        machine.join("\n"),
        comparison.to_markdown(Detail::Spread),
        comparison.legend(),
        growth.to_markdown(),
    )
}

/// The part of the README.
pub fn excerpt(made: &Provenance, machine: &str, comparison: &Comparison) -> String {
    format!(
        "{BEGIN}\n{}\n\n![How many times onecall's time and memory others need]({CHART})\n\n{}\n\
         {machine}. Medians, and how many times onecall's default engine that is. \
         [{PAGE}]({PAGE}) has the spread, who is who, how everything grows with its size, and more.\n{END}",
        made.to_line(),
        comparison.to_markdown(Detail::Medians),
    )
}

/// The README with a new excerpt.
pub fn replace_excerpt(readme: &str, excerpt: &str) -> Result<String, String> {
    let missing = || format!("the README has no part between {BEGIN} and {END}");
    let (before, rest) = readme.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{excerpt}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let readme = format!("a\n{BEGIN}\nold\n{END}\nb");
        let excerpt = format!("{BEGIN}\nnew\n{END}");
        assert_eq!(replace_excerpt(&readme, &excerpt), Ok(format!("a\n{excerpt}\nb")));
        assert!(replace_excerpt("no marks", &excerpt).is_err());
    }
}
