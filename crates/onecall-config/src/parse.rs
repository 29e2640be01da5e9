//! Converts the text of a configuration file into a [`Config`].

use std::path::Path;

use onecall_core::{EngineChoice, SessionLimits, ToolPattern, ToolPolicy};

use crate::allowed_hosts::AllowedHost;
use crate::approvals::read_approvals;
use crate::cache::read_cache;
use crate::document::{self, Node};
use crate::entry::variable_names;
use crate::error::{ConfigErrors, Problem, Report};
use crate::execution::read_execution;
use crate::expand::Environment;
use crate::fleet::read_fleet;
use crate::generate::read_generate;
use crate::limits::read_server_limits;
use crate::local_tools::read_local_tools;
use crate::model::{
    Config, ExposedNames, FormerName, OptionalTool, OutputTypeSource, ProxyPolicy, SandboxMode,
    SandboxProperty,
};
use crate::path::PathReader;
use crate::reader::{self, Section};
use crate::schema::{CONFIGURATION, PROXY, SESSIONS, TOOLS};
use crate::server::{ServerReader, ServersForm};
use crate::store::{LogFiles, RecordLevel, read_store};
use crate::telemetry::read_telemetry;
use crate::users::{AuditLevel, read_users};
use crate::workspace::read_workspace;

pub(crate) const MEBIBYTE: u64 = 1024 * 1024;

impl Config {
    /// Parses the text of a configuration file, YAML or JSON. `file` is used in problems and as the
    /// base of relative paths, but is not read; `environment` looks up the variables that the text
    /// refers to.
    ///
    /// # Errors
    /// All problems of the text, not only the first one.
    pub fn parse(
        text: &str,
        file: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        read_text(text, file, &Environment::new(environment))
    }

    /// Parses the bytes of a configuration file, like [`Config::parse`].
    ///
    /// # Errors
    /// If the bytes are not UTF-8, or as for [`Config::parse`].
    pub fn parse_bytes(
        bytes: &[u8],
        file: &Path,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigErrors> {
        read_bytes(bytes, file, &Environment::new(environment))
    }
}

/// Parses the bytes of a configuration file like [`Config::parse_bytes`], with an environment that
/// can include secrets.
pub(crate) fn read_bytes(
    bytes: &[u8],
    file: &Path,
    environment: &Environment<'_>,
) -> Result<Config, ConfigErrors> {
    match str::from_utf8(bytes) {
        Ok(text) => read_text(text, file, environment),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            Err(ConfigErrors::single(file, not_utf8(&String::from_utf8_lossy(valid))))
        }
    }
}

fn read_text(
    text: &str,
    file: &Path,
    environment: &Environment<'_>,
) -> Result<Config, ConfigErrors> {
    parse(text, file, environment).map_err(|errors| errors.within(text))
}

fn parse(text: &str, file: &Path, environment: &Environment<'_>) -> Result<Config, ConfigErrors> {
    let is_named_json = file.extension().is_some_and(|extension| extension == "json");
    let document = document::read(text, is_named_json)
        .map_err(|problem| ConfigErrors::single(file, problem))?;
    let mut report = Report::default();
    let folder = file.parent().unwrap_or(Path::new(""));
    let paths = PathReader { folder, environment };
    let config = read_config(&document, &paths, &mut report);
    report.finish(config, file)
}

fn not_utf8(valid: &str) -> Problem {
    let last_line = valid.rsplit('\n').next().unwrap_or_default();
    let line = valid.matches('\n').count() + 1;
    let at = document::Position { line, column: last_line.chars().count() + 1 };
    Problem::new(at, "the file is not valid UTF-8 from here on").with_help("save it as UTF-8")
}

/// The optional tools, and the former name of their key if the file uses it.
fn read_optional_tools(
    top: &Section<'_>,
    report: &mut Report,
) -> (Option<Vec<OptionalTool>>, Vec<FormerName>) {
    const NAME: &str = "optional_tools";
    const FORMER_NAME: &str = "expose";
    let (entry, former) = (top.entry(NAME), top.entry(FORMER_NAME));
    if let (Some(one), Some(other)) = (entry, former) {
        let message = format!("'{NAME}' and '{FORMER_NAME}' are both given");
        let help = format!("they mean the same; keep '{NAME}'");
        report.add(Problem::new(one.at.max(other.at), message).with_help(help));
        return (None, Vec::new());
    }
    let former_names = former
        .map(|entry| FormerName { former: FORMER_NAME, name: NAME, line: entry.at.line })
        .into_iter()
        .collect();
    let tools = entry.or(former).and_then(|entry| {
        let label = format!("'{}'", entry.key);
        read_choices(entry.value, &label, "a tool", &OptionalTool::NAMES, report)
    });
    (tools, former_names)
}

fn read_config(document: &Node, paths: &PathReader<'_>, report: &mut Report) -> Config {
    let Some(top) = Section::open(document, "the configuration", CONFIGURATION, report) else {
        return Config::default();
    };
    let inherited = top.get("env_inherit");
    let inherited = inherited.and_then(|node| variable_names(node, "'env_inherit'", report));
    let inherited = inherited.unwrap_or_default();
    let mut reader = ServerReader::new(paths.environment, report).inheriting(&inherited);
    let servers = match (top.entry("servers"), top.entry("mcpServers")) {
        (Some(one), Some(other)) => {
            let (first, second) = if one.at < other.at { (one, other) } else { (other, one) };
            let message = format!(
                "'{}' and '{}' are both given, on line {} and on line {}",
                first.key, second.key, first.at.line, second.at.line
            );
            let help = "move the servers of one into the other";
            report.add(Problem::new(second.at, message).with_help(help));
            Vec::new()
        }
        (Some(servers), None) => reader.servers(servers, ServersForm::ListOrMapping),
        (None, Some(servers)) => reader.servers(servers, ServersForm::Mapping),
        (None, None) => Vec::new(),
    };
    let tools = top.get("tools").and_then(|node| read_policy(node, report));
    let execution = top.get("execution").and_then(|node| read_execution(node, report));
    let (execution, totals) = execution.unwrap_or_default();
    let sessions = top.get("sessions").and_then(|node| read_sessions(node, report));
    let (optional_tools, former_names) = read_optional_tools(&top, report);
    let expose_tools =
        top.get("expose_tools").and_then(|node| read_patterns(node, "'expose_tools'", report));
    let expose_resources = top
        .get("expose_resources")
        .and_then(|node| read_server_patterns(node, "'expose_resources'", report));
    let expose_prompts = top
        .get("expose_prompts")
        .and_then(|node| read_server_patterns(node, "'expose_prompts'", report));
    let expose_names = top.get("expose_names").and_then(|node| {
        reader::choice(node, "'expose_names'", "a choice", &ExposedNames::NAMES, report)
    });
    let limits = top.get("limits").and_then(|node| read_server_limits(node, report));
    let sandbox = top.get("sandbox").and_then(|node| {
        reader::choice(node, "'sandbox'", "a sandbox", &SandboxMode::NAMES, report)
    });
    let sandbox_without = top.get("sandbox_without").and_then(|node| {
        read_choices(node, "'sandbox_without'", "a property", &SandboxProperty::NAMES, report)
    });
    let engine = top.get("engine").and_then(|node| {
        reader::choice(node, "'engine'", "an engine", &EngineChoice::NAMES, report)
    });
    let python = top.get("python").and_then(|node| paths.program(node, "'python'", report));
    let proxy = top.get("proxy").and_then(|node| read_proxy(node, report));
    let workspace = top.entry("workspace").and_then(|entry| read_workspace(entry, paths, report));
    let local_tools =
        top.entry("local_tools").map(|entry| read_local_tools(entry, paths, &inherited, report));
    let mut flag = |key: &str| {
        top.get(key).and_then(|node| reader::boolean(node, &format!("'{key}'"), report))
    };
    let output_types = match flag("learn_output_types") {
        Some(false) => OutputTypeSource::Declared,
        Some(true) | None => OutputTypeSource::Learned,
    };
    let report_savings = flag("report_savings").unwrap_or(false);
    let durable = flag("durable").unwrap_or(false);
    let generate = top.get("generate").and_then(|node| read_generate(node, report));
    let records = top.get("records").and_then(|node| {
        reader::choice(node, "'records'", "a choice", &RecordLevel::NAMES, report)
    });
    let logs = top
        .get("logs")
        .and_then(|node| reader::choice(node, "'logs'", "a choice", &LogFiles::NAMES, report));
    let store = top.get("store").and_then(|node| read_store(node, paths, report));
    let cache = top.get("cache").and_then(|node| read_cache(node, report));
    let approvals =
        top.get("approvals").and_then(|node| read_approvals(node, paths.environment, report));
    let fleet = top.entry("fleet").and_then(|it| read_fleet(it, paths.environment, report));
    let users = top.entry("users").and_then(|it| read_users(it, paths.environment, report));
    let policy = top.get("policy").and_then(|node| paths.absolute(node, "'policy'", report));
    let audit = top
        .get("audit")
        .and_then(|node| reader::choice(node, "'audit'", "a choice", &AuditLevel::NAMES, report));
    let audit = audit.unwrap_or(match users {
        Some(_) => AuditLevel::Hash,
        None => AuditLevel::Off,
    });
    let telemetry =
        top.get("telemetry").and_then(|node| read_telemetry(node, paths.environment, report));
    Config {
        servers,
        tools: tools.unwrap_or_default(),
        execution,
        totals,
        sessions: sessions.unwrap_or_default(),
        optional_tools: optional_tools.unwrap_or_default(),
        former_names,
        expose_tools: expose_tools.unwrap_or_default(),
        expose_resources: expose_resources.unwrap_or_default(),
        expose_prompts: expose_prompts.unwrap_or_default(),
        expose_names: expose_names.unwrap_or_default(),
        limits: limits.unwrap_or_default(),
        sandbox: sandbox.unwrap_or_default(),
        sandbox_without: sandbox_without.unwrap_or_default(),
        engine: engine.unwrap_or_default(),
        python,
        workspace,
        proxy: proxy.unwrap_or_default(),
        local_tools: local_tools.unwrap_or_default(),
        output_types,
        generate: generate.unwrap_or_default(),
        records: records.unwrap_or_default(),
        store: store.unwrap_or_default(),
        logs: logs.unwrap_or_default(),
        report_savings,
        cache,
        approvals,
        durable,
        telemetry: telemetry.unwrap_or_default(),
        fleet,
        users,
        policy,
        audit,
        secrets: Vec::new(),
    }
}

fn read_sessions(node: &Node, report: &mut Report) -> Option<SessionLimits> {
    let section = Section::open(node, "sessions", SESSIONS, report)?;
    let mut limits = SessionLimits::default();
    if let Some(node) = section.get("max") {
        let max = reader::whole_number(node, "'max' in sessions", 0..=200, report)?;
        limits.max = usize::try_from(max).unwrap_or(usize::MAX);
    }
    if let Some(node) = section.get("idle_seconds") {
        limits.idle = reader::seconds(node, "'idle_seconds' in sessions", report)?;
    }
    Some(limits)
}

/// Reads a list in which each value is one of `names`; `what` is its name in messages.
pub(crate) fn read_choices<T: Copy, const N: usize>(
    node: &Node,
    what: &str,
    kind: &str,
    names: &[(&str, T); N],
    report: &mut Report,
) -> Option<Vec<T>> {
    let mut chosen = Vec::new();
    for item in reader::list(node, what, report)? {
        let entry = format!("an entry of {what}");
        chosen.extend(reader::choice(item, &entry, kind, names, report));
    }
    Some(chosen)
}

fn read_proxy(node: &Node, report: &mut Report) -> Option<ProxyPolicy> {
    let section = Section::open(node, "proxy", PROXY, report)?;
    let mut policy = ProxyPolicy::default();
    if let Some(node) = section.get("dynamic_servers") {
        policy.dynamic_servers = reader::boolean(node, "'dynamic_servers' in proxy", report)?;
    }
    if let Some(node) = section.get("allowed_hosts") {
        let what = "a host of 'allowed_hosts' in proxy";
        for host in reader::list(node, "'allowed_hosts' in proxy", report)? {
            let Some(text) = reader::scalar_text(host, what, report) else { continue };
            match AllowedHost::parse(text) {
                Ok(allowed) => policy.allowed_hosts.push(allowed),
                Err(error) => {
                    let message = format!("'{text}' of 'allowed_hosts' in proxy {error}");
                    let help = "as in 'mcp.example.com' or 'localhost:8080'";
                    report.add(Problem::new(host.at, message).with_help(help));
                }
            }
        }
    }
    Some(policy)
}

fn read_policy(node: &Node, report: &mut Report) -> Option<ToolPolicy> {
    let section = Section::open(node, "tools", TOOLS, report)?;
    match (section.entry("allow"), section.entry("block")) {
        (None, None) => None,
        (Some(allow), None) => {
            read_patterns(allow.value, "'allow' in tools", report).map(ToolPolicy::Allow)
        }
        (None, Some(block)) => {
            read_patterns(block.value, "'block' in tools", report).map(ToolPolicy::Block)
        }
        (Some(allow), Some(block)) => {
            let message = format!(
                "tools has both 'allow' (line {}) and 'block' (line {})",
                allow.at.line, block.at.line
            );
            report.add(Problem::new(allow.at.max(block.at), message).with_help("keep one of them"));
            None
        }
    }
}

pub(crate) fn read_patterns(
    node: &Node,
    what: &str,
    report: &mut Report,
) -> Option<Vec<ToolPattern>> {
    let mut patterns = Vec::new();
    for item in reader::list(node, what, report)? {
        let Some(text) = reader::scalar_text(item, &format!("a pattern of {what}"), report) else {
            continue;
        };
        match ToolPattern::parse(text) {
            Ok(pattern) => patterns.push(pattern),
            Err(error) => {
                let message = format!("{error}: '{text}' of {what}");
                let help = "patterns match callable names, such as mcp__internal_apis__delete_*";
                report.add(Problem::new(item.at, message).with_help(help));
            }
        }
    }
    Some(patterns)
}

/// Reads a list of server names in which `*` stands for any characters. A name may be written as the
/// configuration has it, or as callable names spell it.
fn read_server_patterns(node: &Node, what: &str, report: &mut Report) -> Option<Vec<ToolPattern>> {
    let mut patterns = Vec::new();
    for item in reader::list(node, what, report)? {
        let Some(text) = reader::scalar_text(item, &format!("a server of {what}"), report) else {
            continue;
        };
        let spell = |raw: char| match raw {
            '*' => '*',
            raw if raw.is_ascii_alphanumeric() => raw,
            _ => '_',
        };
        match ToolPattern::parse(&text.chars().map(spell).collect::<String>()) {
            Ok(pattern) => patterns.push(pattern),
            Err(_) => {
                let message = format!("an entry of {what} is empty");
                let help = "entries are names of servers; '*' stands for any characters";
                report.add(Problem::new(item.at, message).with_help(help));
            }
        }
    }
    Some(patterns)
}
