//! Writes complete types for generated files: a `TypedDict` for every object.

use std::collections::BTreeSet;

use serde_json::Value;

use super::compact::union;
use super::keywords::is_keyword_argument;
use crate::comment::{hash_comment, lines};
use crate::literal::{python_literal, python_string};
use crate::types::{
    Declaration, DeclarationBody, DeclaredTypes, Field, Note, Object, Type, types_of_values,
};

/// The longest value that is written as a literal.
const LONGEST_LITERAL: usize = 60;

/// Writes declarations, and collects their imports from `typing`.
#[derive(Default)]
pub(crate) struct DeclarationWriter {
    pub(crate) imports: BTreeSet<&'static str>,
}

impl DeclarationWriter {
    /// Writes a type as an annotation.
    pub(crate) fn annotation(&mut self, value_type: &Type, declared: &DeclaredTypes) -> String {
        match value_type {
            Type::Any => self.any(),
            Type::Null => "None".to_owned(),
            Type::Boolean => "bool".to_owned(),
            Type::Integer => "int".to_owned(),
            Type::Number => "float".to_owned(),
            Type::Text => "str".to_owned(),
            Type::Literals(values) => self.literals(values, declared),
            Type::List(Some(item)) => format!("list[{}]", self.annotation(item, declared)),
            Type::List(None) => format!("list[{}]", self.any()),
            // JSON has no tuples: the value is a list.
            Type::Tuple(items) => {
                let items: Vec<_> = items.iter().map(|it| self.annotation(it, declared)).collect();
                format!("list[{}]", union(items))
            }
            Type::Map(Some(values)) => {
                format!("dict[str, {}]", self.annotation(values, declared))
            }
            Type::Map(None) => format!("dict[str, {}]", self.any()),
            Type::Union { alternatives, is_complete: true } => {
                let types: Vec<_> =
                    alternatives.iter().map(|it| self.annotation(it, declared)).collect();
                let written = union(types);
                if written == "Any" { self.any() } else { written }
            }
            Type::Reference(number) => match declared.name(*number) {
                Some(name) => name.to_owned(),
                None => self.any(),
            },
            Type::Union { .. } | Type::Object(_) => self.any(),
        }
    }

    /// Writes one declaration, with a line break after it.
    pub(crate) fn declaration(
        &mut self,
        declaration: &Declaration,
        declared: &DeclaredTypes,
    ) -> String {
        let name = &declaration.name;
        let note = hash_comment(&documentation_lines(&declaration.note), "");
        match &declaration.body {
            DeclarationBody::Alias(alias) => {
                self.imports.insert("TypeAlias");
                let alias = python_string(&self.annotation(alias, declared));
                format!("{note}{name}: TypeAlias = {alias}\n")
            }
            DeclarationBody::Fields(object) if object.fields.iter().all(is_plain) => {
                self.imports.insert("TypedDict");
                let fields: String = self
                    .fields(object, declared, |name, written| format!("    {name}: {written}\n"));
                format!("{note}class {name}(TypedDict):\n{fields}")
            }
            DeclarationBody::Fields(object) => {
                self.imports.insert("TypedDict");
                // The annotations are in a call here, where they are not evaluated lazily, so they
                // are quoted.
                let fields: String = self.fields(object, declared, |name, written| {
                    format!("    {}: {},\n", python_string(name), python_string(&written))
                });
                format!("{note}{name} = TypedDict({}, {{\n{fields}}})\n", python_string(name))
            }
        }
    }

    fn fields(
        &mut self,
        object: &Object,
        declared: &DeclaredTypes,
        line: fn(&str, String) -> String,
    ) -> String {
        let mut text = String::new();
        for field in &object.fields {
            let mut written = self.annotation(&field.value_type, declared);
            if !field.required {
                self.imports.insert("NotRequired");
                written = format!("NotRequired[{written}]");
            }
            text.push_str(&hash_comment(&documentation_lines(&field.note), "    "));
            text.push_str(&line(&field.name, written));
        }
        text
    }

    fn literals(&mut self, values: &[Value], declared: &DeclaredTypes) -> String {
        let is_short = |it: &Value| it.to_string().len() <= LONGEST_LITERAL && !it.is_f64();
        if values.iter().all(is_short)
            && let Some(texts) = values.iter().map(python_literal).collect::<Option<Vec<_>>>()
        {
            self.imports.insert("Literal");
            return format!("Literal[{}]", texts.join(", "));
        }
        let kinds = types_of_values(values);
        self.annotation(&kinds, declared)
    }

    pub(crate) fn any(&mut self) -> String {
        self.imports.insert("Any");
        "Any".to_owned()
    }
}

/// Whether a field can be declared in a class body. A name with two leading underscores would be
/// mangled there.
fn is_plain(field: &Field) -> bool {
    is_keyword_argument(&field.name) && !field.name.starts_with("__")
}

/// The documentation of a value, as lines.
pub(crate) fn documentation_lines(note: &Note) -> Vec<String> {
    let mut words = note.description.as_deref().map(lines).unwrap_or_default();
    words.retain(|line| !line.is_empty());
    let mut details = note.details.clone();
    if let Some(default) = note.default.as_ref().filter(|it| !it.is_null()) {
        let default = python_literal(default);
        details.extend(default.map(|default| format!("default {default}")));
    }
    match (words.last_mut(), details.is_empty()) {
        (_, true) => {}
        (Some(last), false) => last.push_str(&format!(" ({})", details.join("; "))),
        (None, false) => words.push(details.join("; ")),
    }
    words
}
