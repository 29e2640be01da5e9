//! What the attributes of Rust items say: what clap prints, and what is compiled only for tests.

use proc_macro2::TokenTree;
use syn::{Attribute, Expr, ExprLit, Item, Meta};

use super::rust::text_of;

/// Derived traits whose doc comments clap prints.
const CLAP: [&str; 4] = ["Parser", "Args", "Subcommand", "ValueEnum"];

/// Whether an attribute has one of these names.
pub(super) fn names(attribute: &Attribute, expected: &[&str]) -> bool {
    expected.iter().any(|name| attribute.path().is_ident(name))
}

/// Whether the attributes derive one of these traits.
pub(super) fn derives(attributes: &[Attribute], traits: &[&str]) -> bool {
    attributes.iter().filter(|attribute| names(attribute, &["derive"])).any(|attribute| {
        let Meta::List(list) = &attribute.meta else { return false };
        let is_listed = |token: TokenTree| traits.contains(&token.to_string().as_str());
        list.tokens.clone().into_iter().any(is_listed)
    })
}

/// Whether clap reads the type that has these attributes.
pub(super) fn is_of_clap(attributes: &[Attribute]) -> bool {
    derives(attributes, &CLAP)
}

/// Whether clap prints no help for an item: it is hidden, skipped, or flattened into another type.
pub(super) fn is_skipped(attribute: &Attribute) -> bool {
    let Meta::List(list) = &attribute.meta else { return false };
    let mut tokens = list.tokens.clone().into_iter();
    names(attribute, &["arg", "command"])
        && tokens.any(|token| matches!(token.to_string().as_str(), "skip" | "flatten" | "hide"))
}

/// The doc comment in the attributes; lines of a paragraph are joined, as clap does.
pub(super) fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| names(attribute, &["doc"])) {
        let Meta::NameValue(value) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit, .. }) = &value.value else { continue };
        let line = text_of(lit).unwrap_or_default();
        match line.trim() {
            "" => text.push('\n'),
            line if text.is_empty() || text.ends_with('\n') => text.push_str(line),
            line => text = text + " " + line,
        }
    }
    text
}

/// Whether an item is compiled only for tests.
pub(super) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.segments.last().is_some_and(|segment| segment.ident == "test"),
        Meta::List(list) => list.path.is_ident("cfg") && list.tokens.to_string() == "test",
        Meta::NameValue(_) => false,
    })
}

/// The attributes of an item, for the items that can hold messages.
pub(super) fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}
