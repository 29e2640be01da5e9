//! Configurations that are valid: what to write, and what it means.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use onecall_config::{
    CommandTool, Config, FileAction, FilesTool, LocalTool, LocalToolKind, OAuthConfig,
    OptionalTool, OutputTypeSource, PerUserSettings, ProxyPolicy, RecordLevel, RemoteTransport,
    SandboxMode, SandboxProperty, Secret, ServerConfig, ServerLimits, StdioTransport, StoreConfig,
    Transport,
};
use onecall_core::{
    CacheScope, CacheSettings, EngineChoice, RunLimits, ServerName, SessionLimits, ToolAnnotations,
    ToolName, ToolPattern, ToolPolicy, TotalLimits, Workspace, WorkspaceAccess,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::spoiling::Mistake;
use super::text::{Text, any_text, dense_text, header_text};
use super::writing::{Style, Tree};

/// The folder that relative paths are relative to.
const FOLDER: &str = "/etc/onecall";

#[derive(Clone, Debug)]
pub(crate) struct Configuration {
    tree: Tree,
    pub(crate) expected: Config,
}

impl Configuration {
    pub(crate) fn written(&self, style: Style) -> String {
        style.write(&self.tree)
    }

    pub(crate) fn insert_mistake(&mut self, at: Index, mistake: Mistake) {
        self.tree.insert_mistake(at, mistake);
    }
}

/// Keys as they are written.
type Entries = Vec<(String, Tree)>;

/// A part of the configuration: its keys, and how it changes the expected configuration.
type Part<T> = (Entries, T);

fn entry(key: &str, tree: Tree) -> (String, Tree) {
    (key.to_owned(), tree)
}

fn word(value: impl ToString) -> Tree {
    Tree::Word(value.to_string())
}

fn text(value: &str) -> Tree {
    Tree::Text(value.to_owned())
}

/// A key that may be left out, and then means the default.
fn optional<T: Clone + std::fmt::Debug>(
    key: &'static str,
    value: impl Strategy<Value = (Tree, T)>,
) -> impl Strategy<Value = Part<Option<T>>> {
    option::of(value).prop_map(move |value| match value {
        Some((tree, value)) => (vec![entry(key, tree)], Some(value)),
        None => (Vec::new(), None),
    })
}

fn shuffled(entries: Entries) -> impl Strategy<Value = Entries> {
    Just(entries).prop_shuffle()
}

pub(crate) fn configuration() -> impl Strategy<Value = Configuration> {
    let names = |names: Vec<&'static str>| select(names);
    let sandbox = names(SandboxMode::NAMES.map(|(name, _)| name).to_vec())
        .prop_map(|name| (text(name), named(&SandboxMode::NAMES, name)));
    let without = vec(select(SandboxProperty::NAMES.to_vec()), 0..3).prop_map(|chosen| {
        let written = chosen.iter().map(|(name, _)| text(name)).collect();
        (Tree::List(written), chosen.into_iter().map(|(_, property)| property).collect())
    });
    let engine = names(EngineChoice::NAMES.map(|(name, _)| name).to_vec())
        .prop_map(|name| (text(name), named(&EngineChoice::NAMES, name)));
    let parts = (
        servers(),
        optional("tools", policy()),
        (optional("execution", execution()), optional("limits", server_limits())),
        (optional("sandbox", sandbox), optional("sandbox_without", without)),
        optional("engine", engine),
        optional("python", python()),
        optional("workspace", workspace()),
        optional("proxy", proxy()),
        optional("sessions", sessions()),
        (optional("optional_tools", expose()), storage_and_reports()),
        optional("local_tools", local_tools()),
    );
    let parts = parts.prop_map(|parts| {
        let (servers, tools, (execution, limits), (sandbox, without), engine) =
            (parts.0, parts.1, parts.2, parts.3, parts.4);
        let (python, workspace, proxy, sessions, expose, local_tools) =
            (parts.5, parts.6, parts.7, parts.8, parts.9.0, parts.10);
        let memory = parts.9.1;
        let entries = [
            servers.0,
            tools.0,
            execution.0,
            limits.0,
            sandbox.0,
            without.0,
            engine.0,
            python.0,
            workspace.0,
            proxy.0,
            sessions.0,
            expose.0,
            memory.0,
            local_tools.0,
        ];
        let expected = Config {
            servers: servers.1,
            tools: tools.1.unwrap_or_default(),
            execution: execution.1.clone().unwrap_or_default().0,
            totals: execution.1.unwrap_or_default().1,
            limits: limits.1.unwrap_or_default(),
            sandbox: sandbox.1.unwrap_or_default(),
            sandbox_without: without.1.unwrap_or_default(),
            engine: engine.1.unwrap_or_default(),
            python: python.1,
            workspace: workspace.1,
            proxy: proxy.1.unwrap_or_default(),
            sessions: sessions.1.unwrap_or_default(),
            optional_tools: expose.1.unwrap_or_default(),
            local_tools: local_tools.1.unwrap_or_default(),
            ..memory.1
        };
        (entries.concat(), expected)
    });
    parts.prop_flat_map(|(entries, expected)| {
        shuffled(entries).prop_map(move |entries| Configuration {
            tree: Tree::Mapping(entries),
            expected: expected.clone(),
        })
    })
}

fn sessions() -> impl Strategy<Value = (Tree, SessionLimits)> {
    (0_u64..=200, 1_u64..=10_080).prop_map(|(max, seconds)| {
        let limits = SessionLimits {
            max: usize::try_from(max).unwrap(),
            idle: Duration::from_secs(seconds),
        };
        let entries = vec![entry("max", word(max)), entry("idle_seconds", word(seconds))];
        (Tree::Mapping(entries), limits)
    })
}

fn expose() -> impl Strategy<Value = (Tree, Vec<OptionalTool>)> {
    Just(OptionalTool::NAMES).prop_map(|names| {
        let written = names.iter().map(|(name, _)| word(name)).collect();
        (Tree::List(written), names.map(|(_, tool)| tool).to_vec())
    })
}

/// What is remembered, reused and reported, and which tools are shown.
fn storage_and_reports() -> impl Strategy<Value = Part<Config>> {
    let cache = (select(CacheScope::NAMES.to_vec()), seconds(), 1_u64..=65_536).prop_map(
        |((name, scope), (written, ttl), mebibytes)| {
            let entries = vec![
                entry("scope", text(name)),
                entry("ttl_seconds", written),
                entry("max_mb", word(mebibytes)),
            ];
            let max_bytes = mebibytes * 1024 * 1024;
            (Tree::Mapping(entries), CacheSettings { scope, ttl, max_bytes, ..Default::default() })
        },
    );
    let store = (1_u64..=36_500, 1_u64..=1_048_576).prop_map(|(days, mebibytes)| {
        let entries = vec![entry("keep_days", word(days)), entry("max_mb", word(mebibytes))];
        let max_age = Duration::from_secs(days * 86_400);
        let max_bytes = mebibytes * 1024 * 1024;
        (Tree::Mapping(entries), StoreConfig { max_age, max_bytes, ..StoreConfig::default() })
    });
    let records = select(RecordLevel::NAMES.to_vec()).prop_map(|(name, value)| (text(name), value));
    let flag = || any::<bool>().prop_map(|value| (word(value), value));
    let parts = (
        optional("cache", cache),
        optional("store", store),
        optional("records", records),
        optional("report_savings", flag()),
        optional("learn_output_types", flag()),
    );
    parts.prop_map(|(cache, store, records, report_savings, learned)| {
        let entries = [cache.0, store.0, records.0, report_savings.0, learned.0].concat();
        let expected = Config {
            cache: cache.1,
            store: store.1.unwrap_or_default(),
            records: records.1.unwrap_or_default(),
            report_savings: report_savings.1.unwrap_or_default(),
            output_types: match learned.1 {
                Some(false) => OutputTypeSource::Declared,
                Some(true) | None => OutputTypeSource::Learned,
            },
            ..Config::default()
        };
        (entries, expected)
    })
}

/// A tool of each kind, as a list or as a mapping.
fn local_tools() -> impl Strategy<Value = (Tree, Vec<LocalTool>)> {
    let actions = [
        ("read_file", FileAction::Read),
        ("list_files", FileAction::List),
        ("glob", FileAction::Glob),
    ];
    let files = (select(actions.to_vec()), folder()).prop_map(|((name, action), (tree, root))| {
        let entries = vec![entry("builtin", text(name)), entry("root", tree)];
        (entries, LocalToolKind::Files(FilesTool { action, root }))
    });
    let command = (seconds(), secrets("[A-Z_]{1,8}", any_text())).prop_map(
        |((seconds, timeout), (env_tree, env))| {
            let entries = vec![
                entry("command", Tree::List(vec![text("x"), word(5)])),
                entry("timeout_seconds", seconds),
                entry("env", env_tree),
                entry("output", text("json")),
                entry("stdin", text("json")),
            ];
            let plain = "local_tools: [{name: a, command: [x, 5], stdin: json, output: json}]";
            let config = Config::parse(plain, Path::new("c.yaml"), &|_| None).unwrap();
            let plain = config.local_tools.into_iter().map(|tool| tool.kind);
            let is_command = |kind| match kind {
                LocalToolKind::Command(command) => Some(command),
                LocalToolKind::Files(_) => None,
            };
            let command = plain.filter_map(is_command).next().unwrap();
            (entries, LocalToolKind::Command(CommandTool { timeout, env, ..command }))
        },
    );
    (files, command, any_text(), any::<bool>(), any::<bool>()).prop_map(
        |(files, command, about, hint, is_list)| {
            let mut trees = Vec::new();
            let mut expected = Vec::new();
            for (name, (mut entries, kind)) in [("files", files), ("a-command", command)] {
                entries.push(entry("description", text(&about.written)));
                entries.push(entry("read_only", word(hint)));
                trees.push((name.to_owned(), entries));
                expected.push(LocalTool {
                    name: ToolName::new(name),
                    // Only values that reach a program have variables in them.
                    description: Some(about.written.clone()),
                    annotations: ToolAnnotations {
                        read_only_hint: Some(hint),
                        ..ToolAnnotations::default()
                    },
                    kind,
                });
            }
            let with_name = |(name, entries): (String, Entries)| {
                Tree::Mapping([vec![entry("name", text(&name))], entries].concat())
            };
            let tree = if is_list {
                Tree::List(trees.into_iter().map(with_name).collect())
            } else {
                let under_name = |(name, entries)| (name, Tree::Mapping(entries));
                Tree::Mapping(trees.into_iter().map(under_name).collect())
            };
            (tree, expected)
        },
    )
}

fn server_limits() -> impl Strategy<Value = (Tree, ServerLimits)> {
    (1..=1_000_usize, 1..=100_usize).prop_map(|(max_tools, max_schema_depth)| {
        let entries = vec![
            entry("max_tools", word(max_tools)),
            entry("max_schema_depth", word(max_schema_depth)),
        ];
        let expected = ServerLimits { max_tools, max_schema_depth, ..ServerLimits::default() };
        (Tree::Mapping(entries), expected)
    })
}

fn proxy() -> impl Strategy<Value = (Tree, ProxyPolicy)> {
    any::<bool>().prop_map(|dynamic_servers| {
        let written = word(if dynamic_servers { "true" } else { "false" });
        let policy = ProxyPolicy { dynamic_servers, ..ProxyPolicy::default() };
        (Tree::Mapping(vec![entry("dynamic_servers", written)]), policy)
    })
}

fn named<T: Copy, const N: usize>(names: &[(&str, T); N], wanted: &str) -> T {
    names.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value).unwrap()
}

/// Servers as a list, as a mapping, or as other clients write them; disabled ones are
/// written and do not count.
fn servers() -> impl Strategy<Value = Part<Vec<ServerConfig>>> {
    #[derive(Clone, Copy, Debug)]
    enum Shape {
        List,
        Mapping,
        Clients,
    }
    let shape = prop_oneof![Just(Shape::List), Just(Shape::Mapping), Just(Shape::Clients)];
    (shape, vec(server(), 0..4)).prop_map(|(shape, mut servers)| {
        let mut names = BTreeSet::new();
        servers.retain(|server| names.insert(server.name.clone()));
        let with_name = |server: &Server| {
            let name = entry("name", text(&server.name));
            Tree::Mapping([vec![name], server.entries.clone()].concat())
        };
        let under_name =
            |server: &Server| (server.name.clone(), Tree::Mapping(server.entries.clone()));
        let mapping = || Tree::Mapping(servers.iter().map(under_name).collect());
        let written = match shape {
            Shape::List => entry("servers", Tree::List(servers.iter().map(with_name).collect())),
            Shape::Mapping => entry("servers", mapping()),
            Shape::Clients => entry("mcpServers", mapping()),
        };
        let expected = servers.into_iter().filter_map(|server| server.expected).collect();
        (vec![written], expected)
    })
}

#[derive(Clone, Debug)]
struct Server {
    name: String,
    entries: Entries,
    /// Nothing if it is disabled.
    expected: Option<ServerConfig>,
}

fn server() -> impl Strategy<Value = Server> {
    let name = prop_oneof![3 => "[a-z][a-z_-]{0,8}".boxed(), 1 => any::<String>().boxed()];
    let name = name
        .prop_filter("a name that may be used", |name| !name.trim().is_empty() && name != "local");
    let transport = prop_oneof![stdio(), remote()];
    let timeouts = (
        optional("connect_timeout_seconds", seconds()),
        optional("call_timeout_seconds", seconds()),
    );
    let flag = |key| optional(key, any::<bool>().prop_map(|value| (word(value), value)));
    (name, transport, timeouts, flag("disabled"), flag("lazy")).prop_flat_map(
        |(name, transport, (connect, call), disabled, lazy)| {
            let entries = [transport.0, connect.0, call.0, disabled.0, lazy.0].concat();
            let expected = ServerConfig {
                name: ServerName::new(name.clone()),
                transport: transport.1,
                connect_timeout: connect.1,
                call_timeout: call.1,
                lazy: lazy.1.unwrap_or(false),
                pins: None,
                per_user: PerUserSettings::default(),
            };
            let expected = (disabled.1 != Some(true)).then_some(expected);
            shuffled(entries).prop_map(move |entries| Server {
                name: name.clone(),
                entries,
                expected: expected.clone(),
            })
        },
    )
}

fn stdio() -> BoxedStrategy<Part<Transport>> {
    let path = || any_text().prop_map(Text::naming_a_file);
    let command = (path(), "[a-z]").prop_map(|(text, last)| Text {
        written: text.written + &last,
        expected: text.expected + &last,
    });
    let argument = prop_oneof![
        4 => any_text().prop_map(|argument| (text(&argument.written), argument.expected)),
        1 => any::<i64>().prop_map(|number| (word(number), number.to_string())),
        1 => any::<bool>().prop_map(|value| (word(value), value.to_string())),
    ];
    let args = vec(argument, 0..4).prop_map(|arguments| {
        let (trees, expected): (Vec<_>, Vec<_>) = arguments.into_iter().unzip();
        (Tree::List(trees), expected)
    });
    let name = prop_oneof![3 => "[A-Z_]{1,8}", 1 => "[a-zé .:#-]{1,8}"];
    let kind = optional("transport", Just((text("stdio"), ())));
    let cwd = path().prop_map(|path| (text(&path.written), PathBuf::from(path.expected)));
    let parts = (
        kind,
        command,
        optional("args", args),
        optional("env", secrets(name, any_text())),
        optional("cwd", cwd),
    );
    let transport = parts.prop_map(|(kind, command, args, env, cwd)| {
        let written = vec![entry("command", text(&command.written))];
        let expected = StdioTransport {
            command: command.expected,
            args: args.1.unwrap_or_default(),
            env: env.1.unwrap_or_default(),
            cwd: cwd.1,
        };
        ([kind.0, written, args.0, env.0, cwd.0].concat(), Transport::Stdio(expected))
    });
    transport.boxed()
}

fn remote() -> BoxedStrategy<Part<Transport>> {
    type Make = fn(RemoteTransport) -> Transport;
    let kind = prop_oneof![
        Just((None, Transport::Auto as Make)),
        Just((Some(("transport", "auto")), Transport::Auto as Make)),
        Just((Some(("type", "http")), Transport::Http as Make)),
        Just((Some(("transport", "streamable-http")), Transport::Http as Make)),
        Just((Some(("type", "sse")), Transport::Sse as Make)),
        Just((Some(("transport", "sse")), Transport::Sse as Make)),
    ];
    let url = (select(&["http://h/", "HTTPS://a.example:1/p?"][..]), dense_text())
        .prop_map(|(start, text)| text.after(start));
    let headers = optional("headers", secrets("[A-Za-z-]{1,8}", header_text()));
    let transport = (kind, url, headers).prop_map(|((kind, make), url, headers)| {
        let kind = kind.map(|(key, name)| entry(key, text(name)));
        let written = kind.into_iter().chain([entry("url", text(&url.written))]).collect();
        let expected = RemoteTransport {
            url: url.expected,
            headers: headers.1.unwrap_or_default(),
            // No header of up to eight letters is `Authorization`.
            oauth: Some(OAuthConfig::default()),
        };
        ([written, headers.0].concat(), make(expected))
    });
    transport.boxed()
}

fn secrets(
    name: impl Strategy<Value = String>,
    value: impl Strategy<Value = Text>,
) -> impl Strategy<Value = (Tree, BTreeMap<String, Secret>)> {
    btree_map(name, value, 0..4).prop_map(|values| {
        let written = values.iter().map(|(name, value)| entry(name, text(&value.written)));
        let tree = Tree::Mapping(written.collect());
        let expected = values.into_iter().map(|(name, value)| (name, Secret::new(value.expected)));
        (tree, expected.collect())
    })
}

fn policy() -> impl Strategy<Value = (Tree, ToolPolicy)> {
    (any::<bool>(), vec("[a-z0-9_*]{1,12}", 0..4)).prop_map(|(allows, patterns)| {
        let written = Tree::List(patterns.iter().map(|pattern| text(pattern)).collect());
        let expected =
            patterns.iter().map(|pattern| ToolPattern::parse(pattern).unwrap()).collect();
        let (key, expected) = if allows {
            ("allow", ToolPolicy::Allow(expected))
        } else {
            ("block", ToolPolicy::Block(expected))
        };
        (Tree::Mapping(vec![entry(key, written)]), expected)
    })
}

fn seconds() -> impl Strategy<Value = (Tree, Duration)> {
    prop_oneof![
        (1..=86_400_u64).prop_map(|seconds| (word(seconds), Duration::from_secs(seconds))),
        (1..=86_400_000_u64).prop_map(|millis| {
            let written = format!("{}.{:03}", millis / 1_000, millis % 1_000);
            (word(written), Duration::from_millis(millis))
        }),
    ]
}

fn execution() -> impl Strategy<Value = (Tree, (RunLimits, TotalLimits))> {
    let number = |range: std::ops::RangeInclusive<u64>| range.prop_map(|n| (word(n), n));
    let parts = (
        optional("timeout_seconds", seconds()),
        optional("max_output_bytes", number(1..=100 << 20)),
        optional("memory_mb", number(16..=1 << 20)),
        optional("max_tool_calls", number(0..=10_000_000)),
        optional("max_parallel_calls", number(1..=10_000)),
        optional("max_programs", number(1..=10_000)),
        // No less than one program may use.
        optional("max_total_memory_mb", number(1 << 20..=1 << 30)),
    );
    parts.prop_map(|(timeout, output, memory, calls, parallel, programs, total)| {
        let default = RunLimits::default();
        let count = |value: Option<u64>| value.map(|value| usize::try_from(value).unwrap());
        let expected = RunLimits {
            timeout: timeout.1.unwrap_or(default.timeout),
            max_output_bytes: count(output.1).unwrap_or(default.max_output_bytes),
            memory_bytes: memory.1.map_or(default.memory_bytes, |mebibytes| mebibytes << 20),
            max_tool_calls: calls.1.unwrap_or(default.max_tool_calls),
            max_parallel_calls: count(parallel.1).unwrap_or(default.max_parallel_calls),
        };
        let totals = TotalLimits {
            max_programs: count(programs.1).unwrap_or(TotalLimits::default().max_programs),
            memory_bytes: total.1.map(|mebibytes| mebibytes << 20),
        };
        let entries = [timeout.0, output.0, memory.0, calls.0, parallel.0, programs.0, total.0];
        (Tree::Mapping(entries.concat()), (expected, totals))
    })
}

fn python() -> impl Strategy<Value = (Tree, PathBuf)> {
    let name = (dense_text(), "[a-z]").prop_map(|(text, last)| Text {
        written: text.written + &last,
        expected: text.expected + &last,
    });
    prop_oneof![
        name.prop_map(|name| {
            let expected = PathBuf::from(&name.expected);
            let expected = if name.expected.contains('/') {
                Path::new(FOLDER).join(expected)
            } else {
                expected
            };
            (text(&name.written), expected)
        }),
        folder(),
    ]
}

/// A folder that is not the root.
fn folder() -> impl Strategy<Value = (Tree, PathBuf)> {
    let start = select(&["./d", "d/", "../d", "/srv/d", "~/d", "/d"][..]);
    (start, dense_text()).prop_map(|(start, below)| {
        let path = below.after(start).naming_a_file();
        let expected: PathBuf = Path::new(FOLDER).join(path.expected).components().collect();
        (text(&path.written), expected)
    })
}

fn workspace() -> impl Strategy<Value = (Tree, Workspace)> {
    let access = prop_oneof![
        Just((vec![], WorkspaceAccess::ReadOnly)),
        Just((vec![entry("mode", text("read-only"))], WorkspaceAccess::ReadOnly)),
        optional("max_bytes", (1..=1_u64 << 50).prop_map(|bytes| (word(bytes), bytes))).prop_map(
            |(size, max_bytes)| {
                let max_bytes = max_bytes.unwrap_or(100 << 20);
                let mode = vec![entry("mode", text("read-write"))];
                ([mode, size].concat(), WorkspaceAccess::ReadWrite { max_bytes })
            }
        ),
    ];
    (folder(), access).prop_flat_map(|((tree, path), (entries, access))| {
        shuffled([vec![entry("path", tree)], entries].concat()).prop_map(move |entries| {
            (Tree::Mapping(entries), Workspace { path: path.clone(), access })
        })
    })
}
