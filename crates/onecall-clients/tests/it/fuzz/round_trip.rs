//! An entry that is put into a file and taken out again leaves every byte as it was.

use onecall_clients::edit::{
    CommentHandling, EntryContent, InsertionTrace, entries, insert, read, remove,
};
use onecall_clients::{FileFormat, SectionShape, ServerSection};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn entry() -> Map<String, Value> {
    let entry = json!({
        "command": "/opt/one call/onecall",
        "args": ["serve", "--config", "/home/ada/it's \"here\"/onecall.yaml"],
        "env": { "A": "ünï\t${B}", "yes": "no" },
    });
    entry.as_object().unwrap().clone()
}

/// Puts the entry in and takes it out again.
fn there_and_back(text: &str, section: &ServerSection) -> String {
    let content = EntryContent::Entry(entry(), Vec::new());
    let (with, trace) = insert(text, section, "onecall", &content)
        .unwrap_or_else(|error| panic!("{error}\n---\n{text}\n---"));
    let document = read(&with, section.format).unwrap();
    assert!(entries(&document, section).iter().any(|(name, _)| *name == "onecall"));
    let (without, _) = remove(&with, section, "onecall", &trace, CommentHandling::Keep)
        .unwrap_or_else(|error| panic!("{error}\n---\n{with}\n---"));
    without
}

/// Removes each server and adds it again, which must not change the meaning of the file.
fn out_and_in(text: &str, section: &ServerSection) {
    let before = read(text, section.format).unwrap();
    for (name, _) in entries(&before, section) {
        let none = InsertionTrace::none(section);
        let (without, taken) = remove(text, section, name, &none, CommentHandling::Remove)
            .unwrap_or_else(|error| panic!("{error}\n---\n{text}\n---"));
        let left = read(&without, section.format).unwrap();
        assert_eq!(entries(&left, section).len(), entries(&before, section).len() - 1, "{without}");
        let (again, _) = insert(&without, section, name, &EntryContent::Verbatim(taken))
            .unwrap_or_else(|error| panic!("{error}\n---\n{without}\n---"));
        let sorted = |value: &Value| {
            let mut list: Vec<_> = entries(value, section)
                .into_iter()
                .map(|(a, b)| (a.to_owned(), b.clone()))
                .collect();
            list.sort_by(|one, other| one.0.cmp(&other.0));
            list
        };
        assert_eq!(sorted(&read(&again, section.format).unwrap()), sorted(&before), "{again}");
    }
}

fn json_spot() -> ServerSection {
    ServerSection::new(FileFormat::Json, &["mcpServers"], SectionShape::Mapping)
}

fn nested_spot() -> ServerSection {
    ServerSection::new(FileFormat::Json, &["mcp", "servers"], SectionShape::Mapping)
}

fn toml_spot() -> ServerSection {
    ServerSection::new(FileFormat::Toml, &["mcp_servers"], SectionShape::Mapping)
}

fn yaml_list() -> ServerSection {
    ServerSection::new(FileFormat::Yaml, &["mcpServers"], SectionShape::List)
}

fn yaml_mapping() -> ServerSection {
    ServerSection::new(FileFormat::Yaml, &["mcpServers"], SectionShape::Mapping)
}

/// How a file may be laid out.
#[derive(Clone, Debug)]
struct Layout {
    unit: &'static str,
    end: &'static str,
    mark: &'static str,
    last_end: bool,
    comments: Vec<u8>,
    trailing_commas: bool,
}

fn layout() -> impl Strategy<Value = Layout> {
    (
        prop::sample::select(vec!["  ", "    ", "\t", " "]),
        prop::sample::select(vec!["\n", "\r\n"]),
        prop::sample::select(vec!["", "\u{feff}"]),
        any::<bool>(),
        prop::collection::vec(0_u8..6, 8),
        any::<bool>(),
    )
        .prop_map(|(unit, end, mark, last_end, comments, trailing_commas)| Layout {
            unit,
            end,
            mark,
            last_end,
            comments,
            trailing_commas,
        })
}

fn json_value(layout: &Layout, value: &Value, depth: usize, turn: &mut usize) -> String {
    let Value::Object(entries) = value else { return value.to_string() };
    let comment = |turn: &mut usize| {
        *turn += 1;
        layout.comments.get(*turn % layout.comments.len()).copied().unwrap_or_default()
    };
    let style = comment(turn);
    if entries.is_empty() {
        let indent = layout.unit.repeat(depth);
        return match style {
            0 => format!("{{{}{indent}}}", layout.end),
            1 => "{ }".to_owned(),
            2 => "{ /* none */ }".to_owned(),
            3 => format!("{{ // none{}{indent}}}", layout.end),
            _ => "{}".to_owned(),
        };
    }
    if style == 5 && depth > 0 {
        let inner: Vec<_> =
            entries.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
        return format!("{{{}}}", inner.join(", "));
    }
    let indent = layout.unit.repeat(depth + 1);
    let mut text = format!("{{{}", layout.end);
    for (index, (key, value)) in entries.iter().enumerate() {
        if comment(turn) == 1 {
            text += &format!("{indent}// about {key}, with a comma{}", layout.end);
        }
        text += &format!("{indent}\"{key}\": {}", json_value(layout, value, depth + 1, turn));
        let is_last = index + 1 == entries.len();
        if !is_last || layout.trailing_commas {
            text.push(',');
        }
        match comment(turn) {
            2 => text += " // after, it",
            3 => text += " /* after, it */",
            _ => {}
        }
        text += layout.end;
    }
    if comment(turn) == 4 {
        text += &format!("{indent}// the end{}", layout.end);
    }
    format!("{text}{}}}", layout.unit.repeat(depth))
}

fn servers() -> impl Strategy<Value = Vec<(String, Value)>> {
    let name = prop::sample::select(vec!["time", "git-hub", "a b", "ünï", "x.y", "0"]);
    let entry = prop::sample::select(vec![
        json!({ "command": "uvx", "args": ["mcp-server-time", "--x={y: z}"] }),
        json!({ "url": "https://example.com/mcp#x", "headers": { "A": "b, c" } }),
        json!({ "command": "it's", "env": { "K": "v # w" } }),
    ]);
    prop::collection::btree_map(name, entry, 0..4)
        .prop_map(|map| map.into_iter().map(|(name, entry)| (name.to_owned(), entry)).collect())
}

fn others() -> impl Strategy<Value = Map<String, Value>> {
    let key = prop::sample::select(vec!["theme", "numbers", "more"]);
    let value =
        prop::sample::select(vec![json!("dark"), json!([1, 2.5, null]), json!({ "a": {} })]);
    prop::collection::btree_map(key, value, 0..3)
        .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn json(
        layout in layout(), servers in prop::option::of(servers()), others in others(),
        is_first in any::<bool>(),
    ) {
        let mut root = if is_first { Map::new() } else { others.clone() };
        if let Some(servers) = servers {
            root.insert("mcpServers".to_owned(), Value::Object(servers.into_iter().collect()));
        }
        root.extend(others);
        let mut text = layout.mark.to_owned();
        text += &json_value(&layout, &Value::Object(root), 0, &mut 0);
        if layout.last_end {
            text += layout.end;
        }
        prop_assert_eq!(there_and_back(&text, &json_spot()), text.clone());
        prop_assert_eq!(there_and_back(&text, &nested_spot()), text.clone());
        out_and_in(&text, &json_spot());
    }

    #[test]
    fn toml(layout in layout(), servers in servers(), others in others()) {
        let mut text = layout.mark.to_owned();
        let end = layout.end;
        for (key, value) in &others {
            if let Value::String(_) = value {
                text += &format!("{key} = {value} # {key}{end}");
            }
        }
        text += &format!("text = \"\"\"{end}[mcp_servers.no]{end}\"\"\"{end}{end}");
        for (index, (name, entry)) in servers.iter().enumerate() {
            let comment = layout.comments.get(index).copied().unwrap_or_default();
            if comment == 0 {
                text += &format!("# about it{end}");
            }
            text += &format!("[mcp_servers.{}]{end}", Value::from(name.as_str()));
            for (key, value) in entry.as_object().unwrap() {
                match value {
                    Value::Object(inner) if comment % 2 == 0 => {
                        text += &format!("{end}[mcp_servers.{}.{key}]{end}", Value::from(name.as_str()));
                        for (key, value) in inner {
                            text += &format!("{key} = {value}{end}");
                        }
                    }
                    Value::Object(inner) => {
                        let inner: Vec<_> =
                            inner.iter().map(|(key, value)| format!("{key} = {value}")).collect();
                        text += &format!("{key} = {{ {} }}{end}", inner.join(", "));
                    }
                    value => text += &format!("{key} = {value}{end}"),
                }
            }
            if comment == 3 {
                text += end;
            }
        }
        if layout.comments.first() == Some(&4) {
            text += &format!("# the end{end}");
        }
        if !layout.last_end {
            text.truncate(text.trim_end().len());
        }
        prop_assert_eq!(there_and_back(&text, &toml_spot()), text.clone());
        out_and_in(&text, &toml_spot());
    }

    #[test]
    fn yaml(
        layout in layout(), servers in prop::option::of(servers()), others in others(),
        is_list in any::<bool>(), is_before in any::<bool>(), indent in 0_usize..3,
    ) {
        let end = layout.end;
        let mut body = format!("# a file{end}");
        let other: String = others.iter().map(|(key, value)| format!("{key}: {value}{end}")).collect();
        if is_before {
            body += &other;
        }
        let pick = |index: usize| layout.comments.get(index % 8).copied().unwrap_or_default();
        if let Some(servers) = &servers {
            match (servers.is_empty(), pick(0)) {
                (false, _) => body += &format!("mcpServers: # these{end}"),
                (true, 0) => body += &format!("mcpServers:{end}"),
                (true, 1) => body += &format!("mcpServers:  # none{end}"),
                (true, 2) => body += &format!("mcpServers: ~{end}"),
                (true, _) if is_list => body += &format!("mcpServers: [ ] # none{end}"),
                (true, _) => body += &format!("mcpServers: {{}}{end}"),
            }
            let pad = " ".repeat(if is_list { indent } else { indent + 1 });
            for (index, (name, entry)) in servers.iter().enumerate() {
                if pick(index) == 1 {
                    body += &format!("{pad}# about it{end}");
                }
                let name = Value::from(name.as_str());
                let inner = match is_list {
                    true => {
                        body += &format!("{pad}- name: {name}{end}");
                        format!("{pad}  ")
                    }
                    false => {
                        body += &format!("{pad}{name}: # it{end}");
                        format!("{pad}   ")
                    }
                };
                for (key, value) in entry.as_object().unwrap() {
                    body += &format!("{inner}{key}: {value}{end}");
                }
                match pick(index + 3) {
                    2 => body += &format!("{inner}# inside{end}"),
                    3 => body += end,
                    4 => body += &format!("{inner}note: |{end}{inner}  # no comment{end}{inner}  - name: x{end}"),
                    _ => {}
                }
            }
        }
        if !is_before {
            body += &other;
        }
        if pick(7) == 5 {
            body += &format!("# the end{end}{end}");
        }
        if !layout.last_end {
            body.truncate(body.trim_end().len());
        }
        let text = format!("{}{body}", layout.mark);
        let section = if is_list { yaml_list() } else { yaml_mapping() };
        prop_assert_eq!(there_and_back(&text, &section), text.clone());
        out_and_in(&text, &section);
    }

    #[test]
    fn yaml_in_brackets(servers in servers(), is_list in any::<bool>(), tight in any::<bool>()) {
        let gap = if tight { "" } else { " " };
        let items: Vec<String> = servers
            .iter()
            .map(|(name, entry)| match is_list {
                true => {
                    let mut entry = entry.as_object().unwrap().clone();
                    entry.insert("name".to_owned(), json!(name));
                    Value::Object(entry).to_string()
                }
                false => format!("{}: {entry}", Value::from(name.as_str())),
            })
            .collect();
        let items = items.join(&format!(",{gap}"));
        let brackets = if is_list { ('[', ']') } else { ('{', '}') };
        let text = format!("mcpServers: {}{gap}{items}{gap}{} # end\nx: 1\n", brackets.0, brackets.1);
        let section = if is_list { yaml_list() } else { yaml_mapping() };
        prop_assert_eq!(there_and_back(&text, &section), text.clone());
        out_and_in(&text, &section);
    }
}

#[test]
fn an_empty_file() {
    for text in ["// nothing yet\n", "/* nothing */", "\u{feff}// a\r\n// b"] {
        for section in [json_spot(), nested_spot()] {
            assert_eq!(there_and_back(text, &section), text, "{section:?}");
        }
    }
    for text in ["", "\n", "\u{feff}", " \r\n"] {
        for section in [json_spot(), nested_spot(), toml_spot(), yaml_list(), yaml_mapping()] {
            assert_eq!(there_and_back(text, &section), text, "{section:?}");
        }
    }
}

#[test]
fn inline_tables_of_toml() {
    for text in [
        "mcp_servers = {}\n",
        "mcp_servers = { }\nx = 1\n",
        "mcp_servers = { a = { command = \"x\" } }\n",
        "[mcp_servers]\na = { command = \"x\" } # a\nb.command = \"y\"\n",
        "mcp_servers.a.command = \"x\"\n",
    ] {
        assert_eq!(there_and_back(text, &toml_spot()), text);
    }
}
