//! Writes complete types for generated files: an interface for every object.

use serde_json::Value;

use super::compact::{key, list_of, literal, union, union_of_types};
use crate::comment::{jsdoc, lines};
use crate::types::{Declaration, DeclarationBody, DeclaredTypes, Note, Type};

/// The longest value that is written as a literal.
const LONGEST_LITERAL: usize = 60;

/// Writes a type as an annotation.
pub(crate) fn annotation(value_type: &Type, declared: &DeclaredTypes) -> String {
    let written = match value_type {
        Type::Any => "unknown",
        Type::Null => "null",
        Type::Boolean => "boolean",
        Type::Integer | Type::Number => "number",
        Type::Text => "string",
        Type::Literals(values) => return literals(values),
        Type::List(Some(item)) => return list_of(&annotation(item, declared)),
        Type::List(None) => "unknown[]",
        Type::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|it| annotation(it, declared)).collect();
            return format!("[{}]", items.join(", "));
        }
        // `Record` is not used, because a recursive type cannot be written with it.
        Type::Map(Some(values)) => {
            return format!("{{ [key: string]: {} }}", annotation(values, declared));
        }
        Type::Map(None) => "{ [key: string]: unknown }",
        Type::Union { alternatives, is_complete: true } => {
            return union(alternatives.iter().map(|it| annotation(it, declared)).collect());
        }
        Type::Reference(number) => declared.name(*number).unwrap_or("unknown"),
        Type::Union { .. } | Type::Object(_) => "unknown",
    };
    written.to_owned()
}

fn literals(values: &[Value]) -> String {
    match values.iter().all(|it| it.to_string().len() <= LONGEST_LITERAL) {
        true => union(values.iter().map(literal).collect()),
        false => union_of_types(values),
    }
}

/// Writes one declaration, with a line break after it.
pub(crate) fn declaration(declaration: &Declaration, declared: &DeclaredTypes) -> String {
    let name = &declaration.name;
    let note = jsdoc(&documentation_lines(&declaration.note), "");
    match &declaration.body {
        DeclarationBody::Alias(alias) => {
            format!("{note}export type {name} = {};\n", annotation(alias, declared))
        }
        DeclarationBody::Fields(object) => {
            let mut text = format!("{note}export interface {name} {{\n");
            for field in &object.fields {
                text.push_str(&jsdoc(&documentation_lines(&field.note), "  "));
                let mark = if field.required { "" } else { "?" };
                let written = annotation(&field.value_type, declared);
                text.push_str(&format!("  {}{mark}: {written};\n", key(&field.name)));
            }
            if object.allows_other_keys || !object.is_complete {
                text.push_str("  [key: string]: unknown;\n");
            }
            text + "}\n"
        }
    }
}

/// The documentation of a value, as lines.
fn documentation_lines(note: &Note) -> Vec<String> {
    let mut words = note.description.as_deref().map(lines).unwrap_or_default();
    words.retain(|line| !line.is_empty());
    if !note.details.is_empty() {
        let details = note.details.join("; ");
        match words.last_mut() {
            Some(last) => last.push_str(&format!(" ({details})")),
            None => words.push(details),
        }
    }
    if let Some(default) = note.default.as_ref().filter(|it| !it.is_null()) {
        let default = default.to_string();
        if default.len() <= LONGEST_LITERAL {
            words.extend(lines(&format!("@default {default}")));
        }
    }
    words
}
