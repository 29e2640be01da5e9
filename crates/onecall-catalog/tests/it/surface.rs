//! Whatever a server writes into a definition, what a model is shown of it has nothing
//! invisible in it and an end, and ordinary text arrives as it is.

use onecall_catalog::{
    DESCRIPTION_TOKENS, SCHEMA_TOKENS, ToolFile, describe, python_signature, summary,
    typescript_signature,
};
use onecall_core::text::{readable, tokens, visible, visible_json};
use onecall_core::{CallableName, ServerName, ToolAnnotations, ToolName, ToolSpec};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Tokens of everything else in a description: names, signature, notes.
const AROUND: usize = 2_000;

/// Ordinary text of many kinds; no two of them make something else together.
const ORDINARY: [&str; 10] = [
    "Größe",
    "crème brûlée",
    "e\u{301}",
    "東京都",
    "한국어",
    "مرحبا",
    "שָׁלוֹם",
    "می\u{200c}خواهم",
    "👩🏾\u{200d}💻",
    "❤\u{fe0f}\u{200d}🔥",
];

/// Text in which nothing that is invisible is needed.
fn hostile() -> impl Strategy<Value = String> {
    let hidden = prop_oneof![
        (0xe0000_u32..=0xe01ef).prop_map(|code| char::from_u32(code).unwrap_or('x')),
        (0x200b_u32..=0x206f).prop_map(|code| match char::from_u32(code) {
            // A variation selector after one of these is needed.
            Some('‼' | '⁉') | None => 'x',
            Some(character) => character,
        }),
        (0xfe00_u32..=0xfe0f).prop_map(|code| char::from_u32(code).unwrap_or('x')),
        (0x00_u32..=0x9f).prop_map(|code| char::from_u32(code).unwrap_or('x')),
        prop::sample::select(vec![
            '\u{ad}', '\u{61c}', '\u{feff}', '\u{fff9}', '\u{3164}', '\u{ffff}'
        ]),
        prop::char::range('a', 'z'),
    ];
    let piece =
        prop::collection::vec(hidden, 0..60).prop_map(|it| it.into_iter().collect::<String>());
    (piece, 1_usize..400).prop_map(|(piece, times)| piece.repeat(times))
}

fn spec(words: &str, more: &str) -> ToolSpec {
    let property =
        json!({ "type": "string", "description": words, "enum": [more, "b"], "default": more });
    let schema = json!({
        "type": "object",
        "title": more,
        "properties": { words: property, "plain": property, more: { "const": words } },
        "required": [words],
    });
    ToolSpec {
        callable: CallableName::new("mcp__s__t"),
        server: ServerName::new("s"),
        tool: ToolName::new(words),
        description: Some(words.into()),
        input_schema: schema.clone().into(),
        output_schema: Some(schema.into()),
        annotations: ToolAnnotations::default(),
    }
}

fn is_clean(text: &str) -> bool {
    let is_hidden = |it: char| {
        (it.is_control() && !matches!(it, '\n' | '\t'))
            || matches!(
                u32::from(it),
                0xad | 0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164
                    | 0xfe00..=0xfe0f | 0xfeff | 0xfff9..=0xfffb | 0xffff | 0xe0000..=0xe0fff
            )
    };
    !text.contains(is_hidden)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nothing_hidden_and_nothing_endless_reaches_a_model(words in hostile(), more in hostile()) {
        let spec = spec(&words, &more);
        let described = describe(&spec, None);
        let shown = visible_json(&described.to_string()).into_owned();
        prop_assert!(is_clean(&shown), "{:?}", shown);
        prop_assert!(tokens(&shown) <= DESCRIPTION_TOKENS + 2 * SCHEMA_TOKENS + AROUND);
        let parsed: Value = serde_json::from_str(&shown).unwrap();
        prop_assert_eq!(parsed, described);
        for text in [
            python_signature(&spec),
            typescript_signature(&spec),
            summary(&words, 100),
            ToolFile::Python.text(&spec, None),
            ToolFile::TypeScript.text(&spec, None),
            readable(&more, 100),
        ] {
            prop_assert!(is_clean(&text), "{:?}", text);
            prop_assert!(tokens(&text) <= DESCRIPTION_TOKENS + AROUND, "{}", tokens(&text));
        }
    }

    #[test]
    fn ordinary_text_arrives_as_it_is(words in prop::collection::vec(prop::sample::select(ORDINARY.to_vec()), 1..40)) {
        let text = words.join(" \n");
        prop_assert_eq!(visible(&text), text.as_str());
        let described = describe(&spec(&text, "plain"), None);
        prop_assert_eq!(described["description"].as_str(), Some(text.as_str()));
        let json = described.to_string();
        prop_assert_eq!(visible_json(&json), json.as_str());
    }
}
