//! Formats the result of a search for an agent. A model pays for every word, so the best matches
//! are shown in detail and the others by name.

use std::fmt::Write;
use std::sync::Arc;

use onecall_catalog::{
    ObservedOutput, describe, python_signature_with, summary, typescript_signature_with,
};
use onecall_core::text::{tokens, visible_json};
use onecall_core::{Language, ToolSpec};
use onecall_gateway::{FoundTool, SearchResults};
use serde_json::{Value, json};

/// Characters of a description that are shown for each tool.
const SUMMARY_WIDTH: usize = 100;

/// Characters of signatures after which further tools are shown by name only, about three hundred
/// tokens.
const SIGNATURES_BUDGET: usize = 1_200;

/// Characters of whole definitions after which further tools are shown by name only.
const DEFINITIONS_BUDGET: usize = 12_000;

/// How many servers are listed if no tool was found, or if some servers are not connected.
const MAX_SERVERS_LISTED: usize = 12;

/// The limits for a list of names: how many names, and how many tokens they may have together.
const MAX_NAMES_LISTED: usize = 5_000;
const MAX_NAMES_TOKENS: usize = 150_000;

/// The callable names of tools as a JSON array. If not all fit, a second text says how many are
/// missing.
pub(crate) fn listed_names(tools: &[Arc<ToolSpec>]) -> Vec<String> {
    let mut budget = MAX_NAMES_TOKENS;
    let fits = |name: &&str| {
        let left = budget.checked_sub(tokens(name) + 1);
        left.map(|left| budget = left).is_some()
    };
    let names = tools.iter().map(|spec| spec.callable.as_str()).take(MAX_NAMES_LISTED);
    let names: Vec<&str> = names.take_while(fits).collect();
    let mut texts = vec![json!(names).to_string()];
    if names.len() < tools.len() {
        texts.push(format!(
            "[These are the first {} of {} tools, by name. search_tools finds the others by what \
             they do.]",
            names.len(),
            tools.len()
        ));
    }
    texts
}

/// How much of each tool a search shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchDetail {
    /// The name and a summary.
    Names,
    /// What a program needs to call the tool, in two lines.
    #[default]
    Signatures,
    /// The whole definition.
    Full,
}

impl SearchDetail {
    /// The levels of detail and their names in arguments.
    pub const NAMES: [(&'static str, Self); 3] =
        [("names", Self::Names), ("signatures", Self::Signatures), ("full", Self::Full)];

    /// The level of detail with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, detail)| *detail)
    }

    /// The lines about one tool, for programs in this language.
    fn text(self, found: &FoundTool, language: Language) -> String {
        let FoundTool { spec, observed } = found;
        let observed = observed.as_ref();
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        let signature = signature_in(language);
        match self {
            Self::Names if summary.is_empty() => spec.callable.to_string(),
            Self::Names => format!("{}: {summary}", spec.callable),
            Self::Signatures if summary.is_empty() => signature(spec, observed),
            Self::Signatures => format!("{}\n  {summary}", signature(spec, observed)),
            Self::Full => visible_json(&describe(spec, observed).to_string()).into_owned(),
        }
    }

    /// One tool as a JSON value, for `--json` and similar output, with a signature in a language.
    #[must_use]
    pub fn value(self, found: &FoundTool, language: Language) -> Value {
        let FoundTool { spec, observed } = found;
        let observed = observed.as_ref();
        let summary = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        let name = spec.callable.as_str();
        match self {
            Self::Names => json!({ "name": name, "description": summary }),
            Self::Signatures => {
                let signature = signature_in(language)(spec, observed);
                json!({ "name": name, "signature": signature, "description": summary })
            }
            Self::Full => describe(spec, observed),
        }
    }

    fn budget(self) -> usize {
        match self {
            // The search has a limit of its own.
            Self::Names => usize::MAX,
            Self::Signatures => SIGNATURES_BUDGET,
            Self::Full => DEFINITIONS_BUDGET,
        }
    }
}

/// The function that writes signatures in a language.
fn signature_in(language: Language) -> fn(&ToolSpec, Option<&ObservedOutput>) -> String {
    match language {
        Language::Python => python_signature_with,
        Language::TypeScript => typescript_signature_with,
    }
}

/// The text for the result of a search for `query`, with signatures in a language.
#[must_use]
pub fn format_search_results(
    results: &SearchResults,
    query: &str,
    detail: SearchDetail,
    language: Language,
) -> String {
    let mut text = String::new();
    let mut budget = detail.budget();
    let mut by_name: Vec<&str> = Vec::new();
    for (rank, found) in results.tools.iter().enumerate() {
        if budget == 0 {
            by_name.push(found.spec.callable.as_str());
            continue;
        }
        let shown = detail.text(found, language);
        // The best match is shown in detail, however long it is.
        if rank > 0 && shown.len() > budget {
            budget = 0;
            by_name.push(found.spec.callable.as_str());
            continue;
        }
        budget = budget.saturating_sub(shown.len());
        push_line(&mut text, &shown);
    }
    if !by_name.is_empty() {
        push_line(&mut text, &format!("Also (see inspect_tool): {}", by_name.join(", ")));
    }
    let shown = results.tools.len();
    if results.tools.is_empty() {
        push_line(&mut text, &no_match_text(results, query));
    } else if results.matching > shown {
        let more = results.matching - shown;
        push_line(&mut text, &format!("[{more} more match; say more precisely what you need]"));
    }
    for (server, cut) in &results.cut {
        push_line(&mut text, &format!("[Server {server}: {cut}]"));
    }
    let missing = [
        (&results.connecting, "still connecting"),
        (&results.installing, "installing for the first time"),
        (&results.down, "down"),
    ];
    for (servers, what) in missing {
        if !servers.is_empty() {
            push_line(&mut text, &format!("[Servers {what}: {}]", name_list(servers.iter())));
        }
    }
    for (server, reason) in results.unresolved.iter().take(MAX_SERVERS_LISTED) {
        push_line(&mut text, &format!("[Server {server} cannot be used: {reason}]"));
    }
    text
}

fn no_match_text(results: &SearchResults, query: &str) -> String {
    let mut text = match query.trim() {
        "" => "There are no tools.".to_owned(),
        _ => "No tool matches. Try other words, or an empty query to list all.".to_owned(),
    };
    if !results.servers.is_empty() {
        let servers = results.servers.iter().map(|(name, tools)| format!("{name} ({tools})"));
        let _ = write!(text, " Servers and how many tools they have: {}", name_list(servers));
    }
    text
}

/// The first few names, and the number of the others.
fn name_list(names: impl ExactSizeIterator<Item = impl ToString>) -> String {
    let others = names.len().saturating_sub(MAX_SERVERS_LISTED);
    let mut text =
        names.take(MAX_SERVERS_LISTED).map(|it| it.to_string()).collect::<Vec<_>>().join(", ");
    if others > 0 {
        let _ = write!(text, " and {others} others");
    }
    text
}

fn push_line(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(more);
}
