//! Checks a program before it runs: finds tool calls that are certainly wrong, and lists the tools
//! that the program can call.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write};
use std::sync::Arc;

use onecall_catalog::{ParsedProgram, ServerMatch, ToolUse, camel_case, identifier, match_server};
use onecall_core::{
    AskRule, CallableName, ErrorSummary, Failure, Program, Resolution, ToolResolver, ToolSpec,
};

use crate::directory::{AttributeLookup, Directory, NameLookup};

/// The prefix of callable names.
const CALLABLE_PREFIX: &str = "mcp__";

/// A program that contains none of these texts calls no tool.
const TOOL_MARKERS: [&str; 4] = [CALLABLE_PREFIX, "tools", "servers", "mcp-apis"];

/// Added to a refusal, so that the agent knows it can safely run a corrected program.
const NOT_EXECUTED: &str = "[Nothing was executed]";

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
    max_calls: Option<usize>,
    asks: AskPreview,
}

/// Whether calls of a tool ask a person.
#[derive(Debug)]
pub(crate) enum AskPreview {
    /// They do not.
    Never,
    /// They do, by this rule.
    Asks(AskRule),
    /// Some may: the policy decides about each call.
    PolicyMayAsk,
}

/// The program with its source normalised to the form that is checked and run, and the parsed
/// source. It is parsed once for all checks.
pub(crate) fn parse(program: &Program) -> (Cow<'_, Program>, ParsedProgram<'_>) {
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
    if !TOOL_MARKERS.iter().any(|marker| program.code.contains(marker)) {
        return None;
    }
    // An earlier program of the session may have assigned another value to `tools`.
    let is_own = |name: &String| name.starts_with(CALLABLE_PREFIX) || name.contains('/');
    let is_known = |name: &String| is_own(name) || program.session.is_none();
    let to_check: Vec<String> = parsed.names_to_check().into_iter().filter(is_known).collect();
    if to_check.is_empty() || is_valid_for_last_known(parsed, &to_check, directory).await {
        return None;
    }
    let mut resolutions = HashMap::new();
    for name in to_check {
        let resolution = resolve_name(&name, names, directory).await;
        resolutions.insert(name, resolution);
    }
    let findings = parsed.findings(&|name: &str| resolutions.get(name).cloned().flatten());
    let first = findings.first()?;
    let error = ErrorSummary {
        kind: first.kind.to_owned(),
        message: first.message.clone(),
        line: u64::try_from(first.line).ok(),
        ..ErrorSummary::default()
    };
    let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
    Some(Failure::Refused { text: format!("{NOT_EXECUTED}\n{}", text.join("\n")), error })
}

/// Whether the program is correct by the tool definitions that were last seen. If not, the current
/// definitions decide, and their servers have to be waited for.
async fn is_valid_for_last_known(
    parsed: &ParsedProgram<'_>,
    names: &[String],
    directory: &dyn Directory,
) -> bool {
    let Some(seen) = directory.last_known_specs(names).await else { return false };
    let resolution = |name: &str| seen.get(name).cloned().map(Resolution::Callable);
    parsed.findings(&resolution).is_empty()
}

async fn resolve_name(
    name: &str,
    names: &dyn ToolResolver,
    directory: &dyn Directory,
) -> Option<Resolution> {
    if name.starts_with(CALLABLE_PREFIX) {
        return Some(names.resolve(&CallableName::new(name)).await);
    }
    if let Some((server, export)) = name.split_once('/') {
        return imported_tool(server, export, directory).await.map(Resolution::Callable);
    }
    // What follows `tools.` may be the tool's own name on its server.
    match AttributeLookup::find(name, directory).await.found {
        NameLookup::Tool(spec) => Some(Resolution::Callable(spec)),
        NameLookup::Blocked => Some(Resolution::Blocked),
        // The call itself reports why a tool is in quarantine.
        NameLookup::Ambiguous(_) | NameLookup::Quarantined(_) => None,
        // The name may belong to a function that is not a tool of a server.
        NameLookup::Unknown(nearest) => match names.resolve(&CallableName::new(name)).await {
            Resolution::Unknown { .. } => Some(Resolution::unknown(nearest)),
            known => Some(known),
        },
    }
}

/// The tool that a program imports from a server by its own name, unchanged or in camel case.
pub(crate) async fn imported_tool(
    server: &str,
    export: &str,
    directory: &dyn Directory,
) -> Option<Arc<ToolSpec>> {
    let tools = directory.tools_of(server).await;
    let servers: BTreeSet<&str> = tools.iter().map(|spec| spec.server.as_str()).collect();
    let ServerMatch::One(server) = match_server(server, servers.iter().copied()) else {
        return None;
    };
    let mut own = tools.iter().filter(|spec| spec.server.as_str() == server);
    let by_name = own.clone().find(|spec| identifier(spec.tool.as_str()) == export);
    by_name.or_else(|| own.find(|spec| camel_case(spec.tool.as_str()) == export)).cloned()
}

impl Preview {
    /// Previews a program without running it.
    pub(crate) async fn of(
        program: &Program,
        parsed: &ParsedProgram<'_>,
        names: &dyn ToolResolver,
        directory: &dyn Directory,
        asks: &(dyn Fn(&ToolSpec) -> AskPreview + Sync),
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
            let (name, spec) = match resolve_name(&name, names, directory).await {
                Some(Resolution::Callable(spec) | Resolution::Unavailable { spec, .. }) => {
                    (spec.callable.to_string(), Some(spec))
                }
                _ => (name, None),
            };
            let asks = spec.as_deref().map_or(AskPreview::Never, asks);
            let tool = tools.entry(name).or_insert(ToolPreview {
                spec,
                asks,
                lines: Vec::new(),
                max_calls: Some(0),
            });
            let knowable = !in_loop && !in_function;
            tool.max_calls = tool.max_calls.filter(|_| knowable).map(|max_calls| max_calls + 1);
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
            f.write_str("\nIt may call any tool: it computes names or hands `tools` on.")?;
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
        let times = match self.max_calls {
            Some(1) => "at most once".to_owned(),
            Some(max_calls) => format!("at most {max_calls} times"),
            None => "any number of times".to_owned(),
        };
        let mut lines = String::new();
        for (position, line) in self.lines.iter().enumerate() {
            write!(lines, "{}{line}", if position == 0 { "" } else { ", " })?;
        }
        let noun = if self.lines.len() == 1 { "line" } else { "lines" };
        write!(f, "{effects}; {times}, {noun} {lines}")?;
        match &self.asks {
            AskPreview::Asks(rule) => write!(f, "; asks a person first ({})", rule.name()),
            AskPreview::PolicyMayAsk => f.write_str("; the policy may ask a person first"),
            AskPreview::Never => Ok(()),
        }
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
