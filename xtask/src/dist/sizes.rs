//! `cargo xtask dist --sizes`: shows what takes space in a binary, by sections and symbols.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::cargo::root;

use super::binary::{Binary, size};

/// The parts of the code, by the prefixes of crate names or of C functions.
const PARTS: [(&str, &[&str]); 7] = [
    ("code: onecall itself", &["onecall"]),
    (
        "code: Python (RustPython, its parser, big integers)",
        &["rustpython", "ruff_", "malachite", "num_", "pymath", "unicode_", "icu_", "lexical"],
    ),
    ("code: TypeScript (oxc)", &["oxc"]),
    ("code: JavaScript (QuickJS)", &["rquickjs", "JS_", "js_", "__JS", "lre_"]),
    ("code: SQLite", &["sqlite3", "rusqlite", "fts5", "pager", "btree", "vdbe", "where", "json"]),
    (
        "code: MCP, HTTP, TLS, telemetry",
        &["rmcp", "hyper", "http", "tokio", "rustls", "ring", "reqwest", "tower", "opentelemetry"],
    ),
    (
        "code: command line and terminal",
        &["clap", "rustyline", "indicatif", "dialoguer", "console"],
    ),
];

const SHARED: &str = "code: Rust's standard library, and what it is generic over";

const REST: &str = "code: other libraries";

/// Crates whose functions are mostly instances for the types of other crates.
const GENERIC: &[&str] = &["core", "alloc", "std", "hashbrown", "serde", "indexmap", "futures"];

/// The purposes of sections, by their names.
const SECTIONS: [(&str, &[&str]); 3] = [
    ("tables for unwinding the stack", &[".eh_frame", ".eh_frame_hdr", ".gcc_except_table"]),
    ("tables of pointers, and where they are", &[".rela.dyn", ".data.rel.ro", ".got", ".data"]),
    ("constants: the rest (Python's standard library, compressed, is most of it)", &[".rodata"]),
];

/// Prints what takes space in a binary with symbols.
pub fn print(path: &Path) -> Result<(), String> {
    let binary = Binary::read(path)?;
    let rows = rows(path, &binary)?;
    println!("| what | size | share |\n|---|--:|--:|");
    let whole = binary.content.len();
    for (what, bytes) in rows {
        println!("| {what} | {} | {}% |", size(bytes), (100 * bytes + whole / 2) / whole.max(1));
    }
    println!("| the binary | {} | 100% |", size(whole));
    Ok(())
}

/// Each part with its bytes, largest first; together they are the whole binary.
fn rows(path: &Path, binary: &Binary) -> Result<Vec<(String, usize)>, String> {
    let sections = sections(&read("readelf", &["--wide", "--section-headers"], path)?);
    let symbols = read("nm", &["--print-size", "--demangle"], path)?;
    let mut parts = BTreeMap::<String, usize>::new();
    for (name, bytes) in code(&symbols) {
        *parts.entry(part(name).to_owned()).or_default() += bytes;
    }
    if parts.is_empty() {
        return Err(format!("{} has no symbols, which say what is what", path.display()));
    }
    let section = |name: &str| sections.get(name).copied().unwrap_or_default();
    let named: usize = parts.values().sum();
    *parts.entry(REST.to_owned()).or_default() += section(".text").saturating_sub(named);
    for (what, names) in SECTIONS {
        parts.insert(what.to_owned(), names.iter().map(|name| section(name)).sum());
    }
    let (constants, _) = SECTIONS[2];
    // The licences are in the binary uncompressed.
    let path = root().join("THIRD-PARTY.txt");
    let licences = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    if contains(&binary.content, &licences) {
        let bytes = licences.len();
        parts.entry(constants.to_owned()).and_modify(|rest| *rest = rest.saturating_sub(bytes));
        parts.insert("constants: licences".to_owned(), bytes);
    }
    let known: usize = parts.values().sum();
    parts.insert("everything else".to_owned(), binary.content.len().saturating_sub(known));
    let mut rows: Vec<_> = parts.into_iter().collect();
    rows.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Ok(rows)
}

/// Whether the binary contains a file, found by a part that no other file has.
fn contains(binary: &[u8], file: &[u8]) -> bool {
    const SAMPLE: usize = 256;
    let end = file.len().saturating_sub(SAMPLE);
    file.get(end..).is_some_and(|sample| binary.windows(sample.len().max(1)).any(|it| it == sample))
}

/// The sections of a binary with their sizes, from the output of `readelf`.
fn sections(listed: &str) -> BTreeMap<String, usize> {
    let section = |line: &str| {
        let (_, line) = line.split_once(']')?;
        let mut words = line.split_whitespace();
        let name = words.next().filter(|name| name.starts_with('.'))?;
        Some((name.to_owned(), usize::from_str_radix(words.nth(3)?, 16).ok()?))
    };
    listed.lines().filter_map(section).collect()
}

/// The functions with their sizes, from the output of `nm`. A function can have several names.
fn code(listed: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut functions: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for line in listed.lines() {
        let mut words = line.splitn(4, ' ');
        let (Some(address), Some(length), Some("t" | "T" | "w" | "W"), Some(name)) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            continue;
        };
        functions.insert(address, (name, usize::from_str_radix(length, 16).unwrap_or_default()));
    }
    functions.into_values()
}

/// The part that a function belongs to: by the first crate in its name that is not generic.
fn part(name: &str) -> &'static str {
    let begins = |head: &str, starts: &[&str]| starts.iter().any(|start| head.starts_with(start));
    let paths = name.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
    let heads: Vec<&str> = match name.contains("::") {
        true => paths.filter_map(|path| Some(path.split_once("::")?.0)).collect(),
        false => vec![name],
    };
    let mut own = heads.iter().filter(|head| !head.is_empty() && !begins(head, GENERIC));
    match own.next() {
        Some(head) => {
            let part = PARTS.iter().find(|(_, starts)| begins(head, starts));
            part.map_or(REST, |(what, _)| what)
        }
        None => SHARED,
    }
}

fn read(program: &str, arguments: &[&str], path: &Path) -> Result<String, String> {
    let mut command = Command::new(program);
    let output = command.args(arguments).arg(path).env("LC_ALL", "C").output();
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read() {
        let listed = "  [ 1] .interp           PROGBITS  0000 000318 00001c 00   A  0   0  1\n\
                      \x20 [12] .text   PROGBITS  01f49540 01f48540 2edf9d5 00  AX  0   0 32\n";
        let expected = [(".interp".to_owned(), 0x1c), (".text".to_owned(), 0x2e_df9d5)];
        assert_eq!(sections(listed), expected.into());
    }

    #[test]
    fn a_function_counts_once_for_the_crate_that_it_is_there_for() {
        let listed = "0000000000000010 0000000000000020 T core::ptr::drop_in_place<oxc_ast::X>\n\
                      0000000000000010 0000000000000020 t another::name\n\
                      0000000000000030 0000000000000008 r a_table\n\
                      \x20                U malloc\n";
        assert_eq!(code(listed).collect::<Vec<_>>(), [("another::name", 0x20)]);
        for (name, expected) in [
            ("core::ptr::drop_in_place<oxc_ast::X>::h01", "code: TypeScript (oxc)"),
            ("<onecall::cli::Command as clap_builder::Parser>::parse", "code: onecall itself"),
            ("<alloc::vec::Vec<T,A> as core::clone::Clone>::clone", SHARED),
            ("JS_CallInternal", "code: JavaScript (QuickJS)"),
            ("sqlite3VdbeExec", "code: SQLite"),
            ("regex_automata::meta::build", REST),
        ] {
            assert_eq!(part(name), expected, "{name}");
        }
    }
}
