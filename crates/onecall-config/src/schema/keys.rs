//! The definitions of all configuration keys: names, types, defaults and descriptions.

use super::{Key, ValueKind};

const fn key(
    name: &'static str,
    kind: ValueKind,
    default: &'static str,
    description: &'static str,
) -> Key {
    Key { name, kind, default, description }
}

const NONE: &str = "(none)";

/// The top-level keys of a configuration file.
pub(crate) const CONFIGURATION: &[Key] = &[
    key(
        "servers",
        ValueKind::EntryListOrMapping(SERVER),
        "[]",
        "The MCP servers to bridge: a list, or a mapping by name.",
    ),
    key(
        "mcpServers",
        ValueKind::EntryMapping(SERVER),
        "{}",
        "The MCP servers to bridge, as MCP clients write them: a mapping by name. Give either this or `servers`.",
    ),
    key("tools", ValueKind::Section(TOOLS), "(every tool)", "Which tools programs may call."),
    key(
        "execution",
        ValueKind::Section(EXECUTION),
        "{}",
        "What one program may use, and what all of them may use together.",
    ),
    key(
        "sessions",
        ValueKind::Section(SESSIONS),
        "{}",
        "How many sessions there may be, and for how long.",
    ),
    key(
        "optional_tools",
        ValueKind::List(&ValueKind::Choice(&["programmatic_tool_calling"])),
        "[]",
        "Optional tools of onecall to show to agents.",
    ),
    key(
        "expose",
        ValueKind::List(&ValueKind::Choice(&["programmatic_tool_calling"])),
        NONE,
        "The former name of `optional_tools`.",
    ),
    key(
        "expose_tools",
        ValueKind::Patterns,
        "[]",
        "Bridged tools to show to agents unchanged, in addition to onecall's own.",
    ),
    key(
        "expose_resources",
        ValueKind::List(&ValueKind::Text),
        "[]",
        "Servers whose resources agents may list, read and subscribe to, in addition to onecall's own; `*` stands for any characters.",
    ),
    key(
        "expose_prompts",
        ValueKind::List(&ValueKind::Text),
        "[]",
        "Servers whose prompts agents may list and get; `*` stands for any characters.",
    ),
    key(
        "expose_names",
        ValueKind::Choice(&["callable", "own"]),
        "callable",
        "The names of exposed tools and prompts: with their server (`callable`), or as they are on their server (`own`) unless another one has the same name.",
    ),
    key("limits", ValueKind::Section(LIMITS), "{}", "How much onecall accepts from one server."),
    key(
        "sandbox",
        ValueKind::Choice(&["required", "best-effort", "off"]),
        "required",
        "What to do if this machine cannot hold a property of the sandbox: run nothing (`required`), or run programs if the walls that it has keep them from files, networks and other processes (`best-effort`). `off` runs programs without a sandbox.",
    ),
    key(
        "sandbox_without",
        ValueKind::List(&ValueKind::Choice(&[
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
        "Properties of the sandbox that may be missing: programs run even if this machine cannot hold them. `onecall doctor` shows which walls hold which property.",
    ),
    key(
        "engine",
        ValueKind::Choice(&["auto", "python", "cpython"]),
        "auto",
        "The engine for Python programs that do not name one.",
    ),
    key(
        "python",
        ValueKind::Path,
        "(`python3` on `PATH`)",
        "The system's Python for the engine `cpython`: an executable, or the folder of a virtual environment. A name without a slash is looked up on `PATH`.",
    ),
    key("workspace", ValueKind::Section(WORKSPACE), NONE, "The one folder that programs may use."),
    key(
        "proxy",
        ValueKind::Section(PROXY),
        "{}",
        "Which servers a plan may use that are not in the configuration.",
    ),
    key(
        "local_tools",
        ValueKind::EntryListOrMapping(LOCAL_TOOL),
        "[]",
        "Tools that need no server: a list, or a mapping by name.",
    ),
    key(
        "learn_output_types",
        ValueKind::Boolean,
        "true",
        "Whether onecall learns the result types of tools without an output schema from their answers (keys and types, never values), and shows them to agents.",
    ),
    key("generate", ValueKind::Section(GENERATE), "{}", "How `onecall generate` sorts its files."),
    key(
        "records",
        ValueKind::Choice(&["off", "metadata", "full"]),
        "metadata",
        "How much of each run is kept: nothing; what ran, when and how it ended; or arguments, results and output as well.",
    ),
    key(
        "store",
        ValueKind::Section(STORE),
        "{}",
        "Where records of runs are stored, and for how long.",
    ),
    key(
        "logs",
        ValueKind::Choice(&["on", "off"]),
        "on",
        "Whether onecall stores what servers write to stderr, and their starts, stops and failures, for `onecall logs`.",
    ),
    key(
        "report_savings",
        ValueKind::Boolean,
        "false",
        "Whether a last line tells the agent how many tokens a program saved.",
    ),
    key(
        "cache",
        ValueKind::Section(CACHE),
        "(no cache)",
        "How answers of read-only tools are used again. `cache: {}` turns it on.",
    ),
    key(
        "approvals",
        ValueKind::Section(APPROVALS),
        "(no call waits for a person)",
        "Which calls wait until a person approves them, and who may answer.",
    ),
    key(
        "durable",
        ValueKind::Boolean,
        "false",
        "Whether every run is journalled, so that it can be continued after an interruption; otherwise only runs that may have to ask.",
    ),
    key(
        "users",
        ValueKind::Section(USERS),
        NONE,
        "Who may use `onecall serve --http`. Without it, everybody who has the token is the same user.",
    ),
    key(
        "fleet",
        ValueKind::Section(FLEET),
        NONE,
        "This gateway is one of several behind a load balancer.",
    ),
    key(
        "policy",
        ValueKind::Path,
        NONE,
        "Cedar policies that decide which user may call which tool: a file, or a folder of `.cedar` files.",
    ),
    key(
        "audit",
        ValueKind::Choice(&["off", "hash", "full"]),
        "(`hash` with `users`, otherwise `off`)",
        "Whether each decision about a call is kept in the audit trail, with the digest of its arguments or with the arguments.",
    ),
    key(
        "env_inherit",
        ValueKind::List(&ValueKind::Text),
        "[]",
        "Variables of onecall's own environment that every server and local tool with a command gets, if they are set, in addition to a minimal set. `SSH_AUTH_SOCK` is not in that set.",
    ),
    key("telemetry", ValueKind::Section(TELEMETRY), "{}", "Where spans are sent."),
    key("$schema", ValueKind::Text, NONE, "The schema for editors; onecall ignores it."),
];

/// The keys of a server's entry.
pub(crate) const SERVER: &[Key] = &[
    key(
        "name",
        ValueKind::Text,
        "(its key, in a mapping)",
        "The name of the server. Programs call its tools `mcp__<name>__<tool>`.",
    ),
    key(
        "transport",
        ValueKind::Choice(TRANSPORTS),
        "(stdio with a command, auto with a url)",
        "How to reach it. `auto` is streamable HTTP, or else HTTP with server-sent events.",
    ),
    key(
        "type",
        ValueKind::Choice(TRANSPORTS),
        NONE,
        "Another name for `transport`, which some clients use.",
    ),
    key(
        "command",
        ValueKind::Text,
        NONE,
        "The program to start; looked up on `PATH` if it has no slash.",
    ),
    key(
        "args",
        ValueKind::List(&ValueKind::AnyScalar),
        "[]",
        "Its arguments, passed as they are; no shell is involved.",
    ),
    key(
        "env",
        ValueKind::Mapping(&ValueKind::AnyScalar),
        "{}",
        "Environment variables that it gets, in addition to a minimal set. `${user:NAME}` is a secret of the user.",
    ),
    key(
        "env_inherit",
        ValueKind::List(&ValueKind::Text),
        "[]",
        "Variables of onecall's own environment that it gets, if they are set.",
    ),
    key("cwd", ValueKind::Path, "(onecall's own)", "The folder that it is started in."),
    key("url", ValueKind::Text, NONE, "The address of a remote server, http:// or https://."),
    key(
        "headers",
        ValueKind::Mapping(&ValueKind::AnyScalar),
        "{}",
        "HTTP headers to send with every request. Their values are never shown. `${user:NAME}` is a secret of the user.",
    ),
    key(
        "oauth",
        ValueKind::Section(OAUTH),
        "{}",
        "How to log in to it. Most servers need no settings here.",
    ),
    key(
        "credentials",
        ValueKind::Choice(&["shared", "user"]),
        "(`user` with `${user:NAME}`, otherwise `shared`)",
        "Whose credentials it gets: those of the configuration and one login for everybody, or those of each user. With `user`, each user logs in to a remote server.",
    ),
    key("disabled", ValueKind::Boolean, "false", "Whether to ignore this server."),
    key("lazy", ValueKind::Boolean, "false", "Whether to start it only when a program needs it."),
    key(
        "pin",
        ValueKind::Boolean,
        "false",
        "Whether programs may call only tools that have not changed since you accepted them.",
    ),
    key(
        "connect_timeout_seconds",
        ValueKind::Seconds,
        "(10, but 300 for the first start of a command that downloads)",
        "How long starting it and listing its tools may take.",
    ),
    key(
        "call_timeout_seconds",
        ValueKind::Seconds,
        "(the time that the program has left)",
        "How long one call may take.",
    ),
];

const TRANSPORTS: &[&str] =
    &["stdio", "auto", "http", "sse", "streamable-http", "streamable_http", "streamableHttp"];

pub(crate) const OAUTH: &[Key] = &[
    key(
        "issuer",
        ValueKind::Text,
        "(the one that the server names)",
        "The only authorization server to log in at. Its endpoints may have other origins, and `client_secret` is sent to it.",
    ),
    key(
        "client_id",
        ValueKind::Text,
        "(registered by itself)",
        "The client id of onecall, if you registered it at the authorization server.",
    ),
    key(
        "client_secret",
        ValueKind::Text,
        NONE,
        "The secret of that client id; best written as `${VAR}`.",
    ),
    key(
        "scopes",
        ValueKind::List(&ValueKind::Text),
        "(what the server asks for)",
        "The scopes to ask for.",
    ),
    key(
        "redirect_port",
        ValueKind::Integer { min: 1, max: 65_535 },
        "(any)",
        "The port of this machine that the browser is redirected to after the login.",
    ),
];

pub(crate) const TOOLS: &[Key] = &[
    key("allow", ValueKind::Patterns, NONE, "Only tools that match one of these may be called."),
    key(
        "block",
        ValueKind::Patterns,
        NONE,
        "Tools that match one of these may not be called. Give either this or `allow`.",
    ),
];

pub(crate) const EXECUTION: &[Key] = &[
    key("timeout_seconds", ValueKind::Seconds, "120", "How long a program may run."),
    key(
        "max_output_bytes",
        ValueKind::Integer { min: 1, max: 104_857_600 },
        "65536",
        "How much of a program's output is returned.",
    ),
    key(
        "memory_mb",
        ValueKind::Integer { min: 16, max: 1_048_576 },
        "512",
        "How much memory a program may use; `max_total_memory_mb` if that is less.",
    ),
    key(
        "max_tool_calls",
        ValueKind::Integer { min: 0, max: 10_000_000 },
        "1000",
        "How many tool calls a program may make.",
    ),
    key(
        "max_parallel_calls",
        ValueKind::Integer { min: 1, max: 10_000 },
        "64",
        "How many tool calls of a program run at once; others wait.",
    ),
    key(
        "max_programs",
        ValueKind::Integer { min: 1, max: 10_000 },
        "256",
        "How many programs run at once; others wait, each as long as it may run.",
    ),
    key(
        "max_total_memory_mb",
        ValueKind::Integer { min: 16, max: 1_073_741_824 },
        "(three quarters of the machine's memory, or of what the control group may use)",
        "How much memory all programs may use together. Each takes its `memory_mb` while it runs, and a session for as long as it lives; others wait. An idle session ends when a program needs its memory.",
    ),
];

pub(crate) const SESSIONS: &[Key] = &[
    key(
        "max",
        ValueKind::Integer { min: 0, max: 200 },
        "8",
        "How many sessions there may be at once; 0 turns sessions off.",
    ),
    key("idle_seconds", ValueKind::Seconds, "1800", "How long an unused session stays."),
];

pub(crate) const LIMITS: &[Key] = &[
    key(
        "max_message_mb",
        ValueKind::Integer { min: 1, max: 1_024 },
        "64",
        "The size of one line, event or response; a larger one fails its call.",
    ),
    key(
        "max_result_mb",
        ValueKind::Integer { min: 1, max: 1_024 },
        "64",
        "The size of the value of one call.",
    ),
    key(
        "max_tools",
        ValueKind::Integer { min: 1, max: 1_000_000 },
        "100000",
        "How many tools, resources or prompts a list may have.",
    ),
    key(
        "max_pages",
        ValueKind::Integer { min: 1, max: 100_000 },
        "1000",
        "How many pages a list may have.",
    ),
    key(
        "max_schema_depth",
        ValueKind::Integer { min: 1, max: 100 },
        "64",
        "How many levels of a tool's schema are read; deeper ones accept any value.",
    ),
    key(
        "max_description_chars",
        ValueKind::Integer { min: 0, max: 100_000 },
        "4000",
        "How many characters of a tool's description are kept.",
    ),
];

pub(crate) const WORKSPACE: &[Key] = &[
    key(
        "path",
        ValueKind::Path,
        "(required)",
        "The folder; relative to that of this file. It must not hold what is started or secret, such as this file, a virtual environment or a server's script.",
    ),
    key(
        "mode",
        ValueKind::Choice(&["read-only", "read-write"]),
        "read-only",
        "What programs may do there.",
    ),
    key(
        "max_bytes",
        ValueKind::Integer { min: 1, max: 1 << 50 },
        "104857600",
        "How many bytes the folder may hold, including programs that are stored there; with `read-write` only.",
    ),
];

pub(crate) const PROXY: &[Key] = &[
    key(
        "dynamic_servers",
        ValueKind::Boolean,
        "false",
        "Whether a plan may use servers that are not in the configuration.",
    ),
    key(
        "allowed_hosts",
        ValueKind::List(&ValueKind::AnyScalar),
        "[]",
        "Where such servers may be: `host` or `host:port`. On this machine and in private networks, the port is required.",
    ),
];

/// The keys of a local tool's entry.
pub(crate) const LOCAL_TOOL: &[Key] = &[
    key(
        "name",
        ValueKind::Text,
        "(its key, in a mapping)",
        "Programs call it `mcp__local__<name>`.",
    ),
    key("description", ValueKind::Text, NONE, "What agents read about it."),
    key(
        "read_only",
        ValueKind::Boolean,
        "(unsaid)",
        "Whether the tool is declared as one that changes nothing.",
    ),
    key(
        "destructive",
        ValueKind::Boolean,
        "(unsaid)",
        "Whether the tool is declared as one that may destroy something.",
    ),
    key(
        "idempotent",
        ValueKind::Boolean,
        "(unsaid)",
        "Whether the tool is declared as one whose second identical call changes nothing more.",
    ),
    key(
        "command",
        ValueKind::List(&ValueKind::AnyScalar),
        NONE,
        "The program and its arguments; `{name}` stands for an argument of the call. No shell is involved.",
    ),
    key("input_schema", ValueKind::Schema, "(no arguments)", "JSON Schema of the arguments."),
    key("inputSchema", ValueKind::Schema, NONE, "Another name for `input_schema`, which MCP uses."),
    key(
        "stdin",
        ValueKind::Text,
        "none",
        "`json` for the arguments as an object, or a text with `{name}` in it.",
    ),
    key(
        "output",
        ValueKind::Choice(&["auto", "json", "text"]),
        "auto",
        "What the program writes. `auto` is JSON if it parses as such.",
    ),
    key("timeout_seconds", ValueKind::Seconds, "30", "How long it may take."),
    key("cwd", ValueKind::Path, "(onecall's own)", "The folder that it is started in."),
    key(
        "env",
        ValueKind::Mapping(&ValueKind::AnyScalar),
        "{}",
        "Environment variables that it gets, in addition to a minimal set.",
    ),
    key(
        "max_output_bytes",
        ValueKind::Integer { min: 1, max: 33_554_432 },
        "4194304",
        "How much it may write.",
    ),
    key(
        "builtin",
        ValueKind::Choice(&["read_file", "write_file", "list_files", "glob"]),
        NONE,
        "The built-in function of the tool, instead of a command.",
    ),
    key(
        "root",
        ValueKind::Path,
        "(required with builtin)",
        "The folder outside of which a built-in touches nothing. It must not hold what is started or secret, as a workspace must not.",
    ),
];

pub(crate) const GENERATE: &[Key] = &[key(
    "categories",
    ValueKind::PatternMapping(&ValueKind::Choice(&["query", "mutation", "validation", "other"])),
    "{}",
    "Folders for tools that onecall would sort into others by name and annotations; the first pattern that matches counts.",
)];

pub(crate) const STORE: &[Key] = &[
    key(
        "path",
        ValueKind::Path,
        "(onecall/onecall.db in your state directory)",
        "The file of the store.",
    ),
    key(
        "url",
        ValueKind::Text,
        "(the store is a file)",
        "A PostgreSQL database in place of the file, as in `postgres://onecall:${DATABASE_PASSWORD}@db.example.com/onecall`, for gateways on several machines.",
    ),
    key(
        "keep_days",
        ValueKind::Integer { min: 1, max: 36_500 },
        "30",
        "How long runs and the rows of the audit trail are kept.",
    ),
    key(
        "max_mb",
        ValueKind::Integer { min: 1, max: 1_048_576 },
        "256",
        "How much space the runs may take; the oldest are deleted first.",
    ),
    key(
        "journal_mb",
        ValueKind::Integer { min: 1, max: 1_048_576 },
        "256",
        "How much space the journals of runs that have not ended may take; a call that would need more fails.",
    ),
];

pub(crate) const CACHE: &[Key] = &[
    key(
        "scope",
        ValueKind::Choice(&["run", "process", "shared"]),
        "process",
        "Who shares the answers: the calls of one program, all programs of this process, or all your processes with the same servers.",
    ),
    key(
        "include",
        ValueKind::Patterns,
        "[]",
        "Tools whose answers are kept although their server does not call them read-only.",
    ),
    key("exclude", ValueKind::Patterns, "[]", "Tools whose answers are never kept."),
    key("ttl_seconds", ValueKind::Seconds, "300", "How long an answer is used again."),
    key(
        "ttls",
        ValueKind::PatternMapping(&ValueKind::Seconds),
        "{}",
        "Other times for some tools; the first pattern that matches counts.",
    ),
    key(
        "max_mb",
        ValueKind::Integer { min: 1, max: 65_536 },
        "64",
        "How much space all answers together may take.",
    ),
];

pub(crate) const APPROVALS: &[Key] = &[
    key("ask", ValueKind::Patterns, "[]", "Tools whose calls need an approval."),
    key(
        "hints",
        ValueKind::List(&ValueKind::Choice(&["destructive", "writes", "open-world"])),
        "[]",
        "Kinds of tools whose calls need an approval, by the annotations of their servers. A tool without annotations counts as all three. Functions such as `read_resource` count as none.",
    ),
    key(
        "wait_seconds",
        ValueKind::Integer { min: 0, max: 3_600 },
        "45",
        "How long a request of an agent waits for answers before it returns that the program waits.",
    ),
    key(
        "keep_seconds",
        ValueKind::Integer { min: 0, max: 86_400 },
        "300",
        "How long the process of a waiting program is kept. After that it is stopped, and an answer starts the program again from its journal.",
    ),
    key(
        "expire_seconds",
        ValueKind::Integer { min: 60, max: 31_536_000 },
        "604800",
        "How long a question stays open; a call that nobody answered in this time is denied.",
    ),
    key(
        "ways",
        ValueKind::List(&ValueKind::Choice(&["client", "cli", "page"])),
        "[\"client\", \"cli\", \"page\"]",
        "Where questions may be answered: in the MCP client, with `onecall approvals` or `onecall run`, or on the page.",
    ),
    key(
        "webhook",
        ValueKind::Section(WEBHOOK),
        NONE,
        "The address to which each question is posted.",
    ),
];

pub(crate) const WEBHOOK: &[Key] = &[
    key(
        "url",
        ValueKind::Text,
        "(required)",
        "The address that questions are posted to: https://, or http:// on this machine.",
    ),
    key(
        "secret",
        ValueKind::Text,
        "(required)",
        "The secret that messages are signed with; best written as `${VAR}`.",
    ),
];

pub(crate) const TELEMETRY: &[Key] = &[key(
    "otlp",
    ValueKind::Text,
    "(what the OTEL_ variables say)",
    "The address of a collector that takes OTLP over HTTP, such as http://localhost:4318.",
)];

/// The keys of `fleet`.
pub(crate) const FLEET: &[Key] = &[
    key(
        "advertise",
        ValueKind::Text,
        "(required)",
        "The address at which the other gateways reach this one, as in `http://10.0.0.5:8808`; best written as `${VAR}`, because it differs.",
    ),
    key(
        "secret",
        ValueKind::Text,
        "(required)",
        "At least 32 characters, the same for all gateways, with which they prove to each other who they are; best written as `${VAR}`.",
    ),
    key(
        "lease_seconds",
        ValueKind::Integer { min: 3, max: 300 },
        "15",
        "How long a gateway that no longer responds counts as alive. After that, others continue its durable runs.",
    ),
    key(
        "drain_seconds",
        ValueKind::Integer { min: 0, max: 3_600 },
        "30",
        "How long a gateway that is stopped (SIGTERM) lets its requests finish.",
    ),
];

/// The keys of `users`.
pub(crate) const USERS: &[Key] = &[
    key(
        "public_url",
        ValueKind::Text,
        NONE,
        "The address at which people and clients reach onecall, as in `https://onecall.example.com`.",
    ),
    key("oidc", ValueKind::Section(OIDC), NONE, "The identity provider whose tokens are accepted."),
    key(
        "tokens",
        ValueKind::Boolean,
        "true",
        "Whether personal tokens are accepted, which `onecall users token` makes.",
    ),
    key("admin_group", ValueKind::Text, "admin", "The group that sees the runs of all users."),
    key(
        "max_programs",
        ValueKind::Integer { min: 1, max: 10_000 },
        "(no limit)",
        "How many programs one user may run at once; further ones wait.",
    ),
    key(
        "calls_per_minute",
        ValueKind::Integer { min: 1, max: 1_000_000 },
        "(no limit)",
        "How many tool calls one user may make in a minute; further ones fail.",
    ),
    key(
        "max_user_processes",
        ValueKind::Integer { min: 1, max: 10_000 },
        "64",
        "How many processes and connections with credentials of users there may be at once.",
    ),
    key(
        "idle_seconds",
        ValueKind::Seconds,
        "600",
        "How long such a process or connection is kept after its last call.",
    ),
];

/// The keys of `oidc` in `users`.
pub(crate) const OIDC: &[Key] = &[
    key(
        "issuer",
        ValueKind::Text,
        "(required)",
        "The address of the identity provider: https://, or http:// on this machine.",
    ),
    key(
        "audience",
        ValueKind::Text,
        "(`public_url` followed by `/mcp`)",
        "The audience that tokens must be made for.",
    ),
    key("name_claim", ValueKind::Text, "sub", "The claim with the user's name."),
    key("groups_claim", ValueKind::Text, "groups", "The claim with the user's groups."),
    key(
        "scopes",
        ValueKind::List(&ValueKind::Text),
        "[]",
        "Scopes that a token must have, all of them.",
    ),
    key(
        "client_id",
        ValueKind::Text,
        NONE,
        "The name by which the provider knows the page. With it, people sign in to the page at the provider.",
    ),
    key(
        "client_secret",
        ValueKind::Text,
        NONE,
        "The secret that belongs to the client id; may name a variable: `${NAME}`.",
    ),
];
