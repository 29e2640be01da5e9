//! Checks a program before it runs: finds tool calls that are certainly wrong, and lists the tools
//! that the program can call.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Write};
use std::sync::Arc;

use onecall_catalog::{ParsedProgram, ToolUse};
use onecall_core::{
    CallableName, ErrorSummary, Failure, Program, Resolution, ToolResolver, ToolSpec,
};

use crate::directory::{Attribute, Directory, Found};

/// The prefix of callable names.
const CALLABLE: &str = "mcp__";

/// A program that contains none of these texts calls no tool.
const SIGNS_OF_TOOLS: [&str; 2] = [CALLABLE, "tools"];

/// Added to a refusal, so that the agent knows it can safely run a corrected program.
const UNTOUCHED: &str = "[Nothing was executed]";

/// A dry run: what a program may call.
#[derive(Debug)]
pub struct Preview {
    tools: BTreeMap<String, ToolPreview>,
    may_call_others: bool,
    /// Why the program would not be run, if it would be refused.
    pub refusal: Option<Failure>,
}

#[derive(Debug)]
struct ToolPreview {
    /// The tool; `None` if it cannot be called.
    spec: Option<Arc<ToolSpec>>,
    lines: Vec<usize>,
    /// The upper bound for the number of calls; `None` if there is none.
    most: Option<usize>,
}

/// The program with its source normalised to the form that is checked and run, and the parsed
/// source. It is parsed once for all checks.
pub(crate) fn parsed(program: &Program) -> (Cow<'_, Program>, ParsedProgram<'_>) {
    let parsed = ParsedProgram::of_text(&program.code, program.language);
    let program = match parsed.changed_source() {
        None => Cow::Borrowed(program),
        Some(code) => Cow::Owned(Program { code: code.to_owned(), ..program.clone() }),
    };
    (program, parsed)
}

/// Why a program cannot succeed, if that is certain. Syntax errors are left to the worker, whose
/// message is better.
pub(crate) async fn refusal(
    program: &Program,
    parsed: &ParsedProgram<'_>,
    names: &dyn ToolResolver,
    directory: &dyn Directory,
) -> Option<Failure> {
    if !SIGNS_OF_TOOLS.iter().any(|sign| program.code.contains(sign)) {
        return None;
    }
    // An earlier program of the session may have assigned another value to `tools`.
    let is_known = |name: &String| name.starts_with(CALLABLE) || program.session.is_none();
    let to_check: Vec<String> = parsed.names_to_check().into_iter().filter(is_known).collect();
    if to_check.is_empty() || was_right(parsed, &to_check, directory).await {
        return None;
    }
    let mut meanings = HashMap::new();
    for name in to_check {
        let meaning = meaning(&name, names, directory).await;
        meanings.insert(name, meaning);
    }
    let findings = parsed.findings(&|name: &str| meanings.get(name).cloned().flatten());
    let first = findings.first()?;
    let error = ErrorSummary {
        kind: first.kind.to_owned(),
        message: first.message.clone(),
        line: u64::try_from(first.line).ok(),
        ..ErrorSummary::default()
    };
    let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Some(Failure::Refused { text: format!("{UNTOUCHED}\n{}", text.join("\n")), error })
}

/// Whether the program is correct by the tool definitions that were last seen. If not, the current
/// definitions decide, and their servers have to be waited for.
async fn was_right(
    parsed: &ParsedProgram<'_>,
    names: &[String],
    directory: &dyn Directory,
) -> bool {
    let Some(seen) = directory.seen(names).await else { return false };
    let meaning = |name: &str| seen.get(name).cloned().map(Resolution::Callable);
    parsed.findings(&meaning).is_empty()
}

async fn meaning(
    name: &str,
    names: &dyn ToolResolver,
    directory: &dyn Directory,
) -> Option<Resolution> {
    if name.starts_with(CALLABLE) {
        return Some(names.resolve(&CallableName::new(name)).await);
    }
    // What follows `tools.` may be the tool's own name on its server.
    match Attribute::find(name, directory).await.found {
        Found::Tool(spec) => Some(Resolution::Callable(spec)),
        Found::Blocked => Some(Resolution::Blocked),
        // The call itself reports why a tool is in quarantine.
        Found::Ambiguous(_) | Found::Quarantined(_) => None,
        // The name may belong to a function that is not a tool of a server.
        Found::Unknown(nearest) => match names.resolve(&CallableName::new(name)).await {
            Resolution::Unknown { .. } => Some(Resolution::unknown(nearest)),
            known => Some(known),
        },
    }
}

impl Preview {
    /// The preview of a program whose calls are not checked before it runs.
    pub(crate) fn unchecked() -> Self {
        Self { tools: BTreeMap::new(), may_call_others: true, refusal: None }
    }

    /// Previews a program without running it.
    pub(crate) async fn of(
        program: &Program,
        parsed: &ParsedProgram<'_>,
        names: &dyn ToolResolver,
        directory: &dyn Directory,
    ) -> Self {
        let Some(uses) = parsed.tool_uses() else {
            let refusal = parsed.findings(&|_: &str| None).first().map(|finding| {
                let (kind, message) = (finding.kind.to_owned(), finding.message.clone());
                let line = u64::try_from(finding.line).ok();
                let error = ErrorSummary { kind, message, line, ..ErrorSummary::default() };
                Failure::Refused { text: finding.to_string(), error }
            });
            return Self { tools: BTreeMap::new(), may_call_others: refusal.is_none(), refusal };
        };
        let mut tools = BTreeMap::<String, ToolPreview>::new();
        for ToolUse { name, line, in_loop, in_function } in uses.named {
            let (name, spec) = match meaning(&name, names, directory).await {
                Some(Resolution::Callable(spec) | Resolution::Unavailable { spec, .. }) => {
                    (spec.callable.to_string(), Some(spec))
                }
                _ => (name, None),
            };
            let tool =
                tools.entry(name).or_insert(ToolPreview { spec, lines: Vec::new(), most: Some(0) });
            let knowable = !in_loop && !in_function;
            tool.most = tool.most.filter(|_| knowable).map(|most| most + 1);
            if !tool.lines.contains(&line) {
                tool.lines.push(line);
            }
        }
        let refusal = refusal(program, parsed, names, directory).await;
        Self { tools, may_call_others: uses.may_call_others, refusal }
    }
}

impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[Dry run: nothing was executed]")?;
        if self.tools.is_empty() && !self.may_call_others && self.refusal.is_none() {
            f.write_str("\nIt calls no tools.")?;
        }
        for (name, tool) in &self.tools {
            write!(f, "\n{name}: {tool}")?;
        }
        if self.may_call_others {
            f.write_str(
                "\nIt may call any tool: it is not in Python, computes names or hands `tools` on.",
            )?;
        }
        match &self.refusal {
            Some(failure) => write!(f, "\n[It would not run]\n{failure}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for ToolPreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let effects = self.spec.as_deref().map_or("cannot be called", effects);
        let times = match self.most {
            Some(1) => "at most once".to_owned(),
            Some(most) => format!("at most {most} times"),
            None => "any number of times".to_owned(),
        };
        let mut lines = String::new();
        for (position, line) in self.lines.iter().enumerate() {
            write!(lines, "{}{line}", if position == 0 { "" } else { ", " })?;
        }
        let noun = if self.lines.len() == 1 { "line" } else { "lines" };
        write!(f, "{effects}; {times}, {noun} {lines}")
    }
}

/// The effects that the server declares for its tool, with the defaults of MCP.
fn effects(spec: &ToolSpec) -> &'static str {
    let hints = &spec.annotations;
    match (hints.read_only_hint, hints.destructive_hint) {
        (Some(true), _) => "read-only",
        (_, Some(true)) => "destructive",
        (_, Some(false)) => "changes something, destroys nothing",
        (Some(false), None) => "changes something, perhaps destructive",
        (None, None) => "effects unknown",
    }
}
