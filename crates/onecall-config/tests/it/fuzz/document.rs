//! Hostile documents: nested, repeated, referring to themselves, endless, or words
//! of both formats in an order that makes no sense.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

#[rustfmt::skip]
pub(crate) const KEYS: &[&str] = &[
    "servers", "mcpServers", "tools", "execution", "sandbox", "sandbox_without", "engine", "python", "workspace",
    "name", "transport", "type", "command", "args", "env", "cwd", "url", "headers", "disabled", "lazy",
    "connect_timeout_seconds", "call_timeout_seconds", "allow", "block", "timeout_seconds",
    "max_output_bytes", "memory_mb", "max_tool_calls", "max_parallel_calls", "max_programs",
    "max_total_memory_mb", "path", "mode",
    "max_bytes", "local_tools", "input_schema", "properties", "required", "stdin", "output",
    "builtin", "root",
];

#[rustfmt::skip]
pub(crate) const VALUES: &[&str] = &[
    "null", "~", "true", "0", "-1", "1e999", ".nan", "-.inf", "0x7fffffffffffffff",
    "99999999999999999999", "''", "\"\"", "stdio", "http", "sse", "http://h", "cpython", "off",
    "read-only", "read-write", "/", "..", "mcp__a__*", "local", "${SECRET}", "${SECRET}/x",
    "\"{x}\"", "\"${SECRET}{y\"", "write_file", "glob", "json", "${UNSET}", "${SECRET:-x}", "${", "${}", "${SECRET", "${A:-${SECRET}}", "$SECRET", "~/x",
    "\"\\0\"", "\"\\ud800\"", "\"\\ud83d\\ude00\"", "\"\\x", "'${SECRET}\u{7}'",
];

#[rustfmt::skip]
const MARKS: &[&str] = &[
    ": ", ":", "\n", "\r", "\r\n", " ", "  ", "    ", "\t", "- ", "-", "? ", "{", "}", "[", "]",
    ",", ", ", "&a ", "*a", "*a ", "!t ", "!!int ", "!<x> ", "|\n", "|2-\n", ">+\n", "'", "\"",
    "\\", "#", " #c\n", "<<: ", "---\n", "--- ", "...\n", "%YAML 1.2\n", "%TAG ! x\n", "@", "`",
    "\u{feff}", "\u{85}", "\u{2028}", "\u{a0}", "\0", "\u{1b}", "é", "😀",
];

/// What opens a level, and what closes it.
#[rustfmt::skip]
const LEVELS: &[(&str, &str)] = &[
    ("[", "]"), ("{", "}"), ("{a: ", "}"), ("{\"a\":", "}"), ("{\"a\":[", "]}"), ("[a: ", "]"),
    ("{? ", "}"), ("- ", ""), ("-\t", ""), ("? ", ""), ("a: ", ""), ("- a: ", ""), ("-\n ", ""),
    ("a:\n ", ""), ("- !t ", ""), ("- &a ", ""), ("\"", ""), ("'", ""), ("(", ")"), ("#", ""),
    ("${", "}"), ("&a [", "]"), ("!t {", "}"), ("- |\n ", ""), ("\r", ""), ("\n", ""),
    ("\t", ""), ("---\n", ""), ("...\n", ""), (", ", ""), ("%", ""), ("&a ", ""), ("!t ", ""),
    ("*a ", ""),
];

pub(crate) fn hostile_document() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => random_words(),
        2 => nested(),
        1 => stepped_blocks(),
        1 => repeated(),
        1 => huge_scalar(),
        1 => alias_bomb(),
    ]
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(KEYS).prop_map(str::to_owned),
        3 => select(VALUES).prop_map(str::to_owned),
        6 => select(MARKS).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => select(KEYS).prop_map(|key| format!("{key}: ")),
        1 => select(KEYS).prop_map(|key| format!("\n{key}: ")),
        1 => select(KEYS).prop_map(|key| format!("\n  - {key}: ")),
    ]
}

fn random_words() -> impl Strategy<Value = String> {
    vec(word(), 0..60).prop_map(|words| words.concat())
}

fn nested() -> impl Strategy<Value = String> {
    let count = prop_oneof![0..80_usize, 0..5_000_usize];
    (select(LEVELS), count, select(KEYS), random_words(), any::<bool>()).prop_map(
        |((open, close), count, key, inside, closed)| {
            let close = if closed { close.repeat(count) } else { String::new() };
            format!("{key}: {}{inside}{close}", open.repeat(count))
        },
    )
}

/// Blocks that open one another, line by line.
fn stepped_blocks() -> impl Strategy<Value = String> {
    (select(&["a:", "-", "? a", "- a:"][..]), 0..260_usize, 0..3_usize).prop_map(
        |(opening, count, step)| {
            let line = |level| format!("{}{opening}\n", " ".repeat(level * step));
            (0..count).map(line).collect()
        },
    )
}

/// One line repeated many times: duplicate keys, or very many problems.
fn repeated() -> impl Strategy<Value = String> {
    (word(), vec(word(), 1..5), 1..2_000_usize, any::<bool>()).prop_map(
        |(before, words, count, numbered)| {
            let line = words.concat();
            let lines = (0..count).map(|index| {
                if numbered { format!("{line}{index}\n") } else { format!("{line}\n") }
            });
            format!("{before}\n{}", lines.collect::<String>())
        },
    )
}

fn huge_scalar() -> impl Strategy<Value = String> {
    let unit = prop_oneof![word(), any::<char>().prop_map(String::from)];
    let quote = select(&["", "'", "\"", "|\n  ", "&", "!", "*", "#"][..]);
    (select(KEYS), quote, unit, 1..20_000_usize, any::<bool>()).prop_map(
        |(key, quote, unit, count, as_key)| {
            let scalar = format!("{quote}{}{quote}", unit.repeat(count));
            if as_key { format!("{scalar}: {key}") } else { format!("{key}: {scalar}") }
        },
    )
}

/// Anchors that multiply each other.
fn alias_bomb() -> impl Strategy<Value = String> {
    (1..40_usize, 1..5_usize).prop_map(|(levels, width)| {
        let level = |level: usize| {
            let below = format!("*a{}", level.saturating_sub(1));
            format!("a{level}: &a{level} [{}]\n", vec![below; width].join(", "))
        };
        format!("a0: &a0 x\n{}", (1..levels).map(level).collect::<String>())
    })
}
