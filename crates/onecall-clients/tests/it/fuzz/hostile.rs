//! Whatever a file holds: nothing panics, and what is edited says what was meant.

use std::path::Path;

use onecall_clients::edit::{
    CommentHandling, EntryContent, InsertionTrace, entries, insert, read, remove,
};
use onecall_clients::{
    FileFormat, SectionShape, ServerSection, own_config_servers, secrets_in, with_servers,
};
use proptest::prelude::*;
use serde_json::json;

fn spots() -> Vec<ServerSection> {
    vec![
        ServerSection::new(FileFormat::Json, &["mcpServers"], SectionShape::Mapping),
        ServerSection::new(FileFormat::Json, &["mcp", "servers"], SectionShape::Mapping),
        ServerSection::new(FileFormat::Toml, &["mcp_servers"], SectionShape::Mapping),
        ServerSection::new(FileFormat::Yaml, &["mcpServers"], SectionShape::List),
        ServerSection::new(FileFormat::Yaml, &["servers"], SectionShape::Mapping),
    ]
}

fn exercise(text: &str) {
    for section in spots() {
        let entry = json!({ "command": "x", "args": ["a b"] });
        let content = EntryContent::Entry(entry.as_object().unwrap().clone(), Vec::new());
        if let Ok((with, trace)) = insert(text, &section, "onecall", &content) {
            let document = read(&with, section.format).unwrap();
            let found =
                entries(&document, &section).into_iter().find(|(name, _)| *name == "onecall");
            assert_eq!(found.unwrap().1["args"], entry["args"]);
            if let Ok((without, _)) =
                remove(&with, &section, "onecall", &trace, CommentHandling::Keep)
            {
                // What cannot be compared, like a number that is none, is left out.
                let entries = |text: &str| {
                    let document = read(text, section.format).unwrap();
                    entries(&document, &section).len()
                };
                assert_eq!(entries(&without), entries(text), "{text}");
            }
        }
        if let Ok(document) = read(text, section.format) {
            for (name, _) in entries(&document, &section) {
                _ = remove(
                    text,
                    &section,
                    name,
                    &InsertionTrace::none(&section),
                    CommentHandling::Remove,
                );
            }
        }
        _ = secrets_in(text, section.format);
    }
    _ = own_config_servers(text);
    _ = with_servers(text, &[]);
}

fn sample() -> impl Strategy<Value = String> {
    let names = ["claude-code.json", "vscode.json", "zed.json", "codex.toml", "continue.yaml"];
    prop::sample::select(names.to_vec()).prop_map(|name| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
        std::fs::read_to_string(folder.join(name)).unwrap()
    })
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn anything(text in "([{}\\[\\]\",:/*#\n\r =.'|>&!~\\-a0é]|mcpServers|servers|mcp_servers|name){0,60}") {
        exercise(&text);
    }

    #[test]
    fn samples_with_damage(
        text in sample(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..8, "[{}\\[\\]\",:/*#\n\r =\\-é]{0,3}"), 1..4),
    ) {
        let mut characters: Vec<char> = text.chars().collect();
        for (at, length, new) in damage {
            let at = at.index(characters.len().max(1)).min(characters.len());
            let end = (at + length).min(characters.len());
            characters.splice(at..end, new.chars());
        }
        exercise(&characters.into_iter().collect::<String>());
    }
}

#[test]
fn what_is_nested_without_end_is_refused() {
    for open in ["[", "{\"a\":", "- ", "a: {", "x = [", "/*", "\"", "// \n"] {
        exercise(&open.repeat(50_000));
    }
}
