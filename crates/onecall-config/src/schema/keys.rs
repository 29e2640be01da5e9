//! The definitions of all configuration keys: names, types, defaults and descriptions.

use super::{Key, Kind};

const fn key(name: &'static str, kind: Kind, default: &'static str, about: &'static str) -> Key {
    Key { name, kind, default, about }
}

const NONE: &str = "(none)";

/// The top-level keys of a configuration file.
pub(crate) const CONFIGURATION: &[Key] = &[
    key(
        "servers",
        Kind::Entries(SERVER),
        "[]",
        "The MCP servers to bridge: a list, or a mapping by name.",
    ),
    key(
        "mcpServers",
        Kind::Named(SERVER),
        "{}",
        "The same as MCP clients write it: a mapping by name. Give one of the two.",
    ),
    key("tools", Kind::Section(TOOLS), "(every tool)", "Which tools programs may call."),
    key(
        "execution",
        Kind::Section(EXECUTION),
        "{}",
        "What one program may use, and what all of them may use together.",
    ),
    key(
        "sessions",
        Kind::Section(SESSIONS),
        "{}",
        "How many sessions there may be, and for how long.",
    ),
    key(
        "expose",
        Kind::List(&Kind::Choice(&["programmatic_tool_calling"])),
        "[]",
        "Tools of onecall that agents are shown on request only.",
    ),
    key(
        "expose_tools",
        Kind::Patterns,
        "[]",
        "Bridged tools that agents are shown as they are, beside onecall's own.",
    ),
    key("limits", Kind::Section(LIMITS), "{}", "What is taken from one server."),
    key(
        "sandbox",
        Kind::Choice(&["required", "best-effort", "off"]),
        "required",
        "What to do where this machine cannot hold a property of the sandbox: run nothing, run programs behind the walls that there are if these keep them from files, networks and other processes, or build no wall.",
    ),
    key(
        "sandbox_without",
        Kind::List(&Kind::Choice(&[
            "files",
            "metadata",
            "network",
            "processes",
            "names",
            "privileges",
            "inheritance",
            "limits",
        ])),
        "[]",
        "Properties of the sandbox that programs run without where this machine cannot hold them. `onecall doctor` shows which walls hold which property.",
    ),
    key(
        "engine",
        Kind::Choice(&["auto", "python", "cpython"]),
        "auto",
        "What runs Python programs that ask for nothing else.",
    ),
    key(
        "python",
        Kind::Path,
        "(`python3` on `PATH`)",
        "The system's Python for the engine `cpython`: an executable, or the folder of a virtual environment. A name without a slash is looked up on `PATH`.",
    ),
    key("workspace", Kind::Section(WORKSPACE), NONE, "The one folder that programs may use."),
    key("proxy", Kind::Section(PROXY), "{}", "Which servers a plan may bring along."),
    key(
        "local_tools",
        Kind::Entries(LOCAL_TOOL),
        "[]",
        "Tools that need no server: a list, or a mapping by name.",
    ),
    key(
        "learn_output_types",
        Kind::Flag,
        "true",
        "Whether the shape of what tools answer (keys and types, never values) is remembered and shown where a server declares no output schema.",
    ),
    key("generate", Kind::Section(GENERATE), "{}", "How `onecall generate` sorts its files."),
    key(
        "records",
        Kind::Choice(&["off", "metadata", "full"]),
        "metadata",
        "How much of each run is kept: nothing; what ran, when and how it ended; or arguments, results and output as well.",
    ),
    key("store", Kind::Section(STORE), "{}", "Where that is kept, and for how long."),
    key(
        "logs",
        Kind::Choice(&["on", "off"]),
        "on",
        "Whether what servers write to stderr and what happens to them is kept for `onecall logs`.",
    ),
    key(
        "report_savings",
        Kind::Flag,
        "false",
        "Whether a last line tells the agent how many tokens a program saved.",
    ),
    key(
        "cache",
        Kind::Section(CACHE),
        "(no cache)",
        "How answers of read-only tools are used again. `cache: {}` turns it on.",
    ),
    key(
        "env_inherit",
        Kind::List(&Kind::Text),
        "[]",
        "Variables of onecall's own environment that every server and local tool with a command gets, if they are set, beside those that all get. `SSH_AUTH_SOCK` is one that has to be named.",
    ),
    key("telemetry", Kind::Section(TELEMETRY), "{}", "Where spans are sent."),
    key("$schema", Kind::Text, NONE, "For editors; onecall does not look at it."),
];

/// The keys of a server's entry.
pub(crate) const SERVER: &[Key] = &[
    key(
        "name",
        Kind::Text,
        "(its key, in a mapping)",
        "What its tools are called after: `mcp__<name>__<tool>`.",
    ),
    key(
        "transport",
        Kind::Choice(TRANSPORTS),
        "(stdio with a command, auto with a url)",
        "How to reach it. `auto` is streamable HTTP, or else HTTP with server-sent events.",
    ),
    key("type", Kind::Choice(TRANSPORTS), NONE, "The same, as some clients call it."),
    key(
        "command",
        Kind::Text,
        NONE,
        "The program to start; looked up on `PATH` if it has no slash.",
    ),
    key(
        "args",
        Kind::List(&Kind::Written),
        "[]",
        "Its arguments, passed as they are; no shell is involved.",
    ),
    key(
        "env",
        Kind::Mapping(&Kind::Written),
        "{}",
        "Variables that it gets beside a minimal base.",
    ),
    key(
        "env_inherit",
        Kind::List(&Kind::Text),
        "[]",
        "Variables of onecall's own environment that it gets, if they are set.",
    ),
    key("cwd", Kind::Path, "(onecall's own)", "The folder that it is started in."),
    key("url", Kind::Text, NONE, "The address of a remote server, http:// or https://."),
    key("headers", Kind::Mapping(&Kind::Written), "{}", "Sent with every request, shown nowhere."),
    key(
        "oauth",
        Kind::Section(OAUTH),
        "{}",
        "How to log in to it. Usually there is nothing to say.",
    ),
    key("disabled", Kind::Flag, "false", "Whether to leave it out."),
    key("lazy", Kind::Flag, "false", "Whether to start it only when a program needs it."),
    key(
        "pin",
        Kind::Flag,
        "false",
        "Whether only tools may be called that are as they were when you accepted them.",
    ),
    key(
        "connect_timeout_seconds",
        Kind::Seconds,
        "(10, but 300 for the first start of a command that downloads)",
        "How long starting it and listing its tools may take.",
    ),
    key(
        "call_timeout_seconds",
        Kind::Seconds,
        "(the time that the program has left)",
        "How long one call may take.",
    ),
];

const TRANSPORTS: &[&str] =
    &["stdio", "auto", "http", "sse", "streamable-http", "streamable_http", "streamableHttp"];

pub(crate) const OAUTH: &[Key] = &[
    key(
        "issuer",
        Kind::Text,
        "(the one that the server names)",
        "The authorization server to log in at, and no other. It may have endpoints elsewhere, and `client_secret` is for it.",
    ),
    key(
        "client_id",
        Kind::Text,
        "(registered by itself)",
        "What onecall is known as, where it was registered by hand.",
    ),
    key("client_secret", Kind::Text, NONE, "What proves it; best a `${VAR}`."),
    key("scopes", Kind::List(&Kind::Text), "(what the server asks for)", "What to ask for."),
    key(
        "redirect_port",
        Kind::Whole { least: 1, most: 65_535 },
        "(any)",
        "The port of this machine that the browser comes back to.",
    ),
];

pub(crate) const TOOLS: &[Key] = &[
    key("allow", Kind::Patterns, NONE, "Only tools that match one of these may be called."),
    key(
        "block",
        Kind::Patterns,
        NONE,
        "Tools that match one of these may not be called. Give one of the two.",
    ),
];

pub(crate) const EXECUTION: &[Key] = &[
    key("timeout_seconds", Kind::Seconds, "120", "How long it may run."),
    key(
        "max_output_bytes",
        Kind::Whole { least: 1, most: 104_857_600 },
        "65536",
        "How much of what it prints is returned.",
    ),
    key(
        "memory_mb",
        Kind::Whole { least: 16, most: 1_048_576 },
        "512",
        "How much memory it may use; `max_total_memory_mb` if that is less.",
    ),
    key(
        "max_tool_calls",
        Kind::Whole { least: 0, most: 10_000_000 },
        "1000",
        "How many tool calls it may make.",
    ),
    key(
        "max_parallel_calls",
        Kind::Whole { least: 1, most: 10_000 },
        "32",
        "How many of them at once; others wait.",
    ),
    key(
        "max_programs",
        Kind::Whole { least: 1, most: 10_000 },
        "256",
        "How many programs run at once; others wait, each as long as it may run.",
    ),
    key(
        "max_total_memory_mb",
        Kind::Whole { least: 16, most: 1_073_741_824 },
        "(three quarters of the machine's memory, or of what the control group may use)",
        "How much memory all programs may use together. Each takes its `memory_mb` while it runs, and a session for as long as it lives; others wait. An idle session ends when a program needs its memory.",
    ),
];

pub(crate) const SESSIONS: &[Key] = &[
    key(
        "max",
        Kind::Whole { least: 0, most: 200 },
        "8",
        "How many there may be at once; 0 for none.",
    ),
    key("idle_seconds", Kind::Seconds, "1800", "How long an unused session stays."),
];

pub(crate) const LIMITS: &[Key] = &[
    key(
        "max_message_mb",
        Kind::Whole { least: 1, most: 1_024 },
        "64",
        "One line, event or response; a longer one fails its call.",
    ),
    key("max_result_mb", Kind::Whole { least: 1, most: 1_024 }, "64", "The value of one call."),
    key(
        "max_tools",
        Kind::Whole { least: 1, most: 1_000_000 },
        "100000",
        "Tools, and resources or prompts in a list.",
    ),
    key("max_pages", Kind::Whole { least: 1, most: 100_000 }, "1000", "Pages of a list."),
    key(
        "max_schema_depth",
        Kind::Whole { least: 1, most: 100 },
        "64",
        "Levels of a tool's schema; what is below takes anything.",
    ),
    key(
        "max_description_chars",
        Kind::Whole { least: 0, most: 100_000 },
        "4000",
        "Characters of a tool's description.",
    ),
];

pub(crate) const WORKSPACE: &[Key] = &[
    key(
        "path",
        Kind::Path,
        "(required)",
        "The folder; relative to that of this file. It must not hold what is started or secret, such as this file, a virtual environment or a server's script.",
    ),
    key(
        "mode",
        Kind::Choice(&["read-only", "read-write"]),
        "read-only",
        "What programs may do there.",
    ),
    key(
        "max_bytes",
        Kind::Whole { least: 1, most: 1 << 50 },
        "104857600",
        "Of everything in it, programs that are kept there included; with `read-write` only.",
    ),
];

pub(crate) const PROXY: &[Key] = &[
    key("dynamic_servers", Kind::Flag, "false", "Whether a plan may bring servers along."),
    key(
        "allowed_hosts",
        Kind::List(&Kind::Written),
        "[]",
        "Where they may be: `host` or `host:port`; with a port on this machine and in private networks.",
    ),
];

/// The keys of a local tool's entry.
pub(crate) const LOCAL_TOOL: &[Key] = &[
    key("name", Kind::Text, "(its key, in a mapping)", "Programs call it `mcp__local__<name>`."),
    key("description", Kind::Text, NONE, "What agents read about it."),
    key("read_only", Kind::Flag, "(unsaid)", "Whether it says that it changes nothing."),
    key("destructive", Kind::Flag, "(unsaid)", "Whether it says that it may destroy something."),
    key(
        "idempotent",
        Kind::Flag,
        "(unsaid)",
        "Whether it says that a second identical call changes nothing more.",
    ),
    key(
        "command",
        Kind::List(&Kind::Written),
        NONE,
        "The program and its arguments; `{name}` stands for an argument of the call. No shell is involved.",
    ),
    key("input_schema", Kind::Schema, "(no arguments)", "JSON Schema of the arguments."),
    key("inputSchema", Kind::Schema, NONE, "The same, as MCP writes it."),
    key(
        "stdin",
        Kind::Text,
        "none",
        "`json` for the arguments as an object, or a text with `{name}` in it.",
    ),
    key(
        "output",
        Kind::Choice(&["auto", "json", "text"]),
        "auto",
        "What the program writes. `auto` is JSON if it parses as such.",
    ),
    key("timeout_seconds", Kind::Seconds, "30", "How long it may take."),
    key("cwd", Kind::Path, "(onecall's own)", "The folder that it is started in."),
    key(
        "env",
        Kind::Mapping(&Kind::Written),
        "{}",
        "Variables that it gets beside a minimal base.",
    ),
    key(
        "max_output_bytes",
        Kind::Whole { least: 1, most: 33_554_432 },
        "4194304",
        "How much it may write.",
    ),
    key(
        "builtin",
        Kind::Choice(&["read_file", "write_file", "list_files", "glob"]),
        NONE,
        "What it does, in place of a command.",
    ),
    key(
        "root",
        Kind::Path,
        "(required with builtin)",
        "The folder outside of which a built-in touches nothing. It must not hold what is started or secret, as a workspace must not.",
    ),
];

pub(crate) const GENERATE: &[Key] = &[key(
    "categories",
    Kind::ByPattern(&Kind::Choice(&["query", "mutation", "validation", "other"])),
    "{}",
    "Folders of tools whose name and annotations say something else; the first pattern that fits counts.",
)];

pub(crate) const STORE: &[Key] = &[
    key("path", Kind::Path, "(onecall/onecall.db in your state directory)", "The file."),
    key("keep_days", Kind::Whole { least: 1, most: 36_500 }, "30", "How long runs are kept."),
    key(
        "max_mb",
        Kind::Whole { least: 1, most: 1_048_576 },
        "256",
        "What they may take; the oldest go first.",
    ),
];

pub(crate) const CACHE: &[Key] = &[
    key(
        "scope",
        Kind::Choice(&["run", "process", "shared"]),
        "process",
        "Who shares the answers: the calls of one program, all programs of this process, or all your processes with the same servers.",
    ),
    key(
        "include",
        Kind::Patterns,
        "[]",
        "Tools whose answers are kept although their server does not call them read-only.",
    ),
    key("exclude", Kind::Patterns, "[]", "Tools whose answers are never kept."),
    key("ttl_seconds", Kind::Seconds, "300", "How long an answer is used again."),
    key(
        "ttls",
        Kind::ByPattern(&Kind::Seconds),
        "{}",
        "Other times for some tools; the first pattern that fits counts.",
    ),
    key(
        "max_mb",
        Kind::Whole { least: 1, most: 65_536 },
        "64",
        "What all answers together may take.",
    ),
];

pub(crate) const TELEMETRY: &[Key] = &[key(
    "otlp",
    Kind::Text,
    "(what the OTEL_ variables say)",
    "The address of a collector that takes OTLP over HTTP, such as http://localhost:4318.",
)];
