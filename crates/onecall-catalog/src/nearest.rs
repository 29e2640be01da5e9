//! Finds tools with names similar to an unknown one. Models get the server or the separators wrong
//! more often than the letters, so only letters and digits are compared: `sales.orders`,
//! `mcp__sales_orders` and `orders` all match `mcp__sales__orders`.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use onecall_core::ToolSpec;
use onecall_core::nearest::{letters_and_digits, word_similarity};

/// The least similarity of a suggestion.
const MIN_SIMILARITY: f64 = 0.6;

/// The shortest name that is compared with the end, or with a part, of other names; a shorter one
/// matches too many by chance.
const SHORTEST_ENDING: usize = 3;
const SHORTEST_PART: usize = 4;

/// The longest name whose similarity is computed; no person or model writes a longer one.
const LONGEST_COMPARED: usize = 200;

/// The largest number of exact comparisons for one name, the most promising first.
const MAX_COMPARISONS: usize = 2_000;

/// The names of all tools in the form for comparison, in the order of the tools.
#[derive(Debug)]
pub(crate) struct NameIndex {
    names: Vec<ComparedName>,
}

impl NameIndex {
    /// Builds the index from the raw names, so that the suffixes of callable names are ignored.
    pub(crate) fn build(tools: &[Arc<ToolSpec>]) -> Self {
        let name =
            |tool: &Arc<ToolSpec>| ComparedName::new(tool.server.as_str(), tool.tool.as_str());
        Self { names: tools.iter().map(name).collect() }
    }

    /// The positions of the tools most similar to `name`, at most `limit`, best first; equal scores
    /// stay in the order of the tools.
    pub(crate) fn nearest(&self, name: &str, limit: usize) -> Vec<usize> {
        let mut name = ComparedText::of(name);
        if let Some(rest) = name.text.strip_prefix("mcp") {
            name = ComparedText::of(rest);
        }
        if name.text.is_empty() || limit == 0 {
            return Vec::new();
        }

        let mut promising: Vec<(f64, usize)> = self
            .names
            .iter()
            .map(|candidate| candidate.score(&name, similarity_bound))
            .zip(0..)
            .filter(|(bound, _)| *bound >= MIN_SIMILARITY)
            .collect();
        promising.sort_by(|(a, _), (b, _)| b.total_cmp(a));

        let mut best: BTreeSet<Scored> = BTreeSet::new();
        for (bound, position) in promising.into_iter().take(MAX_COMPARISONS) {
            let full = best.len() >= limit;
            if full && best.last().is_some_and(|worst| bound < worst.score) {
                break;
            }
            let Some(candidate) = self.names.get(position) else { continue };
            let score = candidate.score(&name, similarity);
            if score >= MIN_SIMILARITY {
                best.insert(Scored { score, position });
                if full {
                    best.pop_last();
                }
            }
        }
        best.into_iter().map(|scored| scored.position).collect()
    }
}

/// The parts of a tool's name.
#[derive(Debug)]
struct ComparedName {
    /// The server and the tool together.
    full: ComparedText,
    server: String,
    tool: ComparedText,
}

impl ComparedName {
    fn new(server: &str, tool: &str) -> Self {
        let server = letters_and_digits(server);
        let tool = ComparedText::of(tool);
        Self { full: ComparedText::of(&format!("{server}{}", tool.text)), server, tool }
    }

    /// The similarity to `name`, which increases with the result of `similarity`. An exact match is
    /// above 1 and a common ending near 0.9, so that only a full name with one or two typing errors
    /// comes before it.
    fn score(
        &self,
        name: &ComparedText,
        similarity: fn(&ComparedText, &ComparedText) -> f64,
    ) -> f64 {
        let (written, full) = (name.text.as_str(), self.full.text.as_str());
        let tool = self.tool.text.as_str();
        if full == written {
            return 2.0;
        }
        if tool == written {
            return 1.5;
        }
        let whole = similarity(name, &self.full);
        let shares_ending = tool.len() >= SHORTEST_ENDING && written.ends_with(tool)
            || written.len() >= SHORTEST_ENDING && full.ends_with(written);
        let floor = if shares_ending {
            0.9 + 0.05 * whole
        } else if written.len() >= SHORTEST_PART && full.contains(written) {
            0.75 + 0.05 * whole
        } else {
            0.0
        };
        // If the server matches, the tool must be similar too: otherwise a long server name would
        // make all its tools look similar.
        let alike = match written.strip_prefix(self.server.as_str()) {
            Some(rest) if !self.server.is_empty() => {
                let by_tool = 0.1 + 0.9 * similarity(&ComparedText::of(rest), &self.tool);
                if by_tool >= MIN_SIMILARITY { by_tool.max(whole) } else { by_tool }
            }
            _ => whole.max(0.95 * similarity(name, &self.tool)),
        };
        floor.max(alike)
    }
}

/// The compared part of a text, and the count of each character in it.
#[derive(Debug)]
struct ComparedText {
    text: String,
    counts: [u8; 36],
}

impl ComparedText {
    fn of(text: &str) -> Self {
        let text = letters_and_digits(text);
        let mut counts = [0_u8; 36];
        for byte in text.bytes() {
            let digit = char::from(byte).to_digit(36).and_then(|digit| usize::try_from(digit).ok());
            if let Some(count) = digit.and_then(|digit| counts.get_mut(digit)) {
                *count = count.saturating_add(1);
            }
        }
        Self { text, counts }
    }
}

/// A scored position. The order is by descending score, then by position.
#[derive(PartialEq)]
struct Scored {
    score: f64,
    position: usize,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.position.cmp(&other.position))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The similarity from 0 (nothing in common) to 1 (equal).
fn similarity(a: &ComparedText, b: &ComparedText) -> f64 {
    word_similarity(&a.text, &b.text)
}

/// An upper bound of [`similarity`] from the character counts alone: it is much cheaper to compute,
/// and excludes nearly all names.
fn similarity_bound(a: &ComparedText, b: &ComparedText) -> f64 {
    if a.text.len().max(b.text.len()) > LONGEST_COMPARED {
        return 0.0;
    }
    let (mut surplus, mut missing) = (0_u16, 0_u16);
    for (a, b) in a.counts.iter().zip(&b.counts) {
        surplus += u16::from(a.saturating_sub(*b));
        missing += u16::from(b.saturating_sub(*a));
    }
    similarity_of_distance(usize::from(surplus.max(missing)), &a.text, &b.text)
}

#[expect(clippy::cast_precision_loss, reason = "both are below the longest length compared")]
fn similarity_of_distance(distance: usize, a: &str, b: &str) -> f64 {
    1.0 - distance as f64 / a.len().max(b.len()).max(1) as f64
}

#[cfg(test)]
mod tests {
    use onecall_core::{ServerName, ToolAnnotations, ToolName};
    use serde_json::json;

    use crate::{Catalog, ToolDefinition};

    fn catalog(tools: &[(&str, &str)]) -> Catalog {
        Catalog::build(tools.iter().map(|(server, tool)| {
            let definition = ToolDefinition {
                tool: ToolName::new(*tool),
                description: None,
                input_schema: json!({}).into(),
                output_schema: None,
                annotations: ToolAnnotations::default(),
            };
            (ServerName::new(*server), vec![definition])
        }))
    }

    fn nearest(catalog: &Catalog, name: &str) -> Vec<String> {
        catalog.nearest(name, 3).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn wrong_servers_separators_and_letters_are_seen_through() {
        let catalog = catalog(&[
            ("sales", "orders"),
            ("sales", "list_customers"),
            ("financial-data", "get_quote"),
            ("financial-data", "filings"),
            ("hr", "employees"),
        ]);
        for (name, expected) in [
            ("mcp__sales__orders", vec!["mcp__sales__orders"]),
            ("mcp__sales_orders", vec!["mcp__sales__orders"]),
            ("MCP.Sales.Orders", vec!["mcp__sales__orders"]),
            ("sales.orders", vec!["mcp__sales__orders"]),
            ("orders", vec!["mcp__sales__orders"]),
            ("order", vec!["mcp__sales__orders"]),
            ("mcp__shop__orders", vec!["mcp__sales__orders"]),
            ("mcp__sales__oders", vec!["mcp__sales__orders"]),
            ("mcp__sales__get_orders", vec!["mcp__sales__orders"]),
            ("customers", vec!["mcp__sales__list_customers"]),
            ("mcp__sales__list_customer", vec!["mcp__sales__list_customers"]),
            ("getQuote", vec!["mcp__financial_data__get_quote"]),
            ("mcp__financial_data__get_qoute", vec!["mcp__financial_data__get_quote"]),
            ("mcp__financial_data__weather", vec![]),
            ("print", vec![]),
            ("mcp__", vec![]),
            ("", vec![]),
            ("💰", vec![]),
        ] {
            assert_eq!(nearest(&catalog, name), expected, "{name}");
        }
    }

    #[test]
    fn exact_comes_before_ending_before_similar_and_equals_are_alphabetical() {
        let catalog = catalog(&[
            ("b", "orders"),
            ("a", "orders"),
            ("a", "list_orders"),
            ("a", "order"),
            ("a", "unrelated"),
        ]);
        assert_eq!(
            catalog.nearest("orders", 9).iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["mcp__a__orders", "mcp__b__orders", "mcp__a__list_orders", "mcp__a__order"]
        );
        assert_eq!(nearest(&catalog, "orders").len(), 3);
        assert_eq!(catalog.nearest("orders", 0), []);
    }

    #[test]
    fn a_contested_name_leads_to_all_that_contest_it() {
        let catalog = catalog(&[("s", "do-it"), ("s", "do_it"), ("s", "other")]);
        assert_eq!(catalog.nearest("mcp__s__do_it", 5).len(), 2);
    }

    #[test]
    fn long_names_are_compared_as_a_whole_and_endless_ones_not_at_all() {
        let (long, endless) = ("x".repeat(2_000), "x".repeat(1_000_000));
        let catalog = catalog(&[("s", &long), ("s", "x")]);
        assert_eq!(catalog.nearest(&long, 5).len(), 1);
        assert_eq!(catalog.nearest(&format!("{long}y"), 5).len(), 0);
        assert_eq!(catalog.nearest(&endless, 5).len(), 0);
    }
}
