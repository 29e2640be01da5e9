//! Generates the Python file of a tool: its types, and an async function that calls it.

use std::collections::HashSet;

use onecall_core::ToolSpec;

use super::declaration::{DeclarationWriter, documentation_lines};
use super::keywords::is_keyword_argument;
use crate::casing::pascal_case;
use crate::comment::{docstring, hash_comment, lines};
use crate::literal::json_string;
use crate::observed::{ObservedOutput, ResultType, rounded_observation_note};
use crate::types::{DeclarationBody, DeclaredTypes, Field, Type, Types, takes_anything};

/// Names that every generated file uses, so that no type can have them.
const RESERVED_TYPE_NAMES: [&str; 11] = [
    "Any",
    "Literal",
    "Mapping",
    "NotRequired",
    "TypeAlias",
    "TypedDict",
    "UNSET",
    "None",
    "True",
    "False",
    "Ellipsis",
];

/// The largest number of parameters of a function; a tool with more takes one dict.
const MAX_PARAMETERS: usize = 100;

/// The Python file of a tool. `function` is the name of its function.
pub(crate) fn python_file(
    spec: &ToolSpec,
    function: &str,
    observed: Option<&ObservedOutput>,
) -> String {
    let mut base = pascal_case(function);
    if !base.starts_with(|it: char| it.is_ascii_alphabetic()) {
        base.insert_str(0, "Tool");
    }
    let mut taken: HashSet<String> =
        RESERVED_TYPE_NAMES.iter().map(|it| (*it).to_owned()).collect();
    taken.insert(function.to_owned());
    let input = Types::of(&spec.input_schema);
    let arguments = DeclaredTypes::new(&input, &base, "arguments", &mut taken);
    let mut writer = DeclarationWriter::default();
    let call = CallForwarding::of(spec, &arguments, &mut writer);

    let mut declarations = Vec::new();
    for (number, declaration) in arguments.declarations.iter().enumerate() {
        if Some(number) != call.spread {
            declarations.push(writer.declaration(declaration, &arguments));
        }
    }
    let result = ResultType::of(spec, observed);
    let (returns, remark) = match &result {
        ResultType::Declared(types) | ResultType::Observed(types, _) => {
            let declared = DeclaredTypes::new(types, &base, "result", &mut taken);
            let written = declared.declarations.iter();
            let written: Vec<_> = written.map(|it| writer.declaration(it, &declared)).collect();
            declarations.extend(written);
            let remark = match result {
                ResultType::Observed(_, samples) => Some(rounded_observation_note(samples)),
                _ => None,
            };
            (writer.annotation(&declared.root, &declared), remark)
        }
        ResultType::Unknown => (writer.any(), None),
    };

    let mut documentation = lines(spec.description.as_deref().unwrap_or_default());
    if documentation.concat().is_empty() {
        documentation = vec![format!("Calls {}.", json_string(spec.tool.as_str()))];
    }
    if !call.documentation.is_empty() {
        documentation.extend([String::new(), "Args:".to_owned()]);
        documentation.extend(call.documentation);
    }
    if let Some(remark) = &remark {
        documentation.extend([String::new(), "Returns:".to_owned(), format!("    The {remark}.")]);
    }

    let mut file = hash_comment(&[header_line(spec)], "");
    file.push_str("\nfrom __future__ import annotations\n\n");
    if call.takes_mapping {
        file.push_str("from collections.abc import Mapping\n");
    }
    if !writer.imports.is_empty() {
        let names: Vec<_> = writer.imports.into_iter().collect();
        file.push_str(&format!("from typing import {}\n", names.join(", ")));
    }
    if call.takes_mapping || file.contains("from typing") {
        file.push('\n');
    }
    let unset = if call.has_optional { "UNSET, " } else { "" };
    file.push_str(&format!("from ...client import {unset}call as _call\n"));
    for declaration in declarations {
        file.push_str("\n\n");
        file.push_str(&declaration);
    }
    let name = json_string(spec.callable.as_str());
    file.push_str(&format!(
        "\n\nasync def {function}({}) -> {returns}:\n{}    result: {returns} = await _call({name}, {})\n    \
         return result\n",
        call.parameters,
        docstring(&documentation, "    "),
        call.passed,
    ));
    file
}

/// The header line that names the tool and its server.
pub(crate) fn header_line(spec: &ToolSpec) -> String {
    format!(
        "Made by `onecall generate` from the tool {} of the server {}; changes will be lost.",
        quoted_name(spec.tool.as_str()),
        quoted_name(spec.server.as_str())
    )
}

fn quoted_name(name: &str) -> String {
    let name: String = name.chars().take(200).collect();
    json_string(&name)
}

/// How the function takes its arguments and passes them on.
struct CallForwarding {
    parameters: String,
    passed: String,
    documentation: Vec<String>,
    /// The declaration whose fields became parameters.
    spread: Option<usize>,
    has_optional: bool,
    takes_mapping: bool,
}

impl CallForwarding {
    fn of(spec: &ToolSpec, arguments: &DeclaredTypes, writer: &mut DeclarationWriter) -> Self {
        let single_argument = |parameters: String, takes_mapping: bool| Self {
            parameters,
            passed: "arguments".to_owned(),
            takes_mapping,
            ..Self::nothing()
        };
        match arguments.root {
            Type::Reference(number) if arguments.is_mapping(&arguments.root) => {
                let body = arguments.declarations.get(number).map(|it| &it.body);
                match body {
                    Some(DeclarationBody::Fields(object))
                        if object.is_complete && number == 0 && can_be_spread(&object.fields) =>
                    {
                        Self::spread(&object.fields, arguments, writer)
                    }
                    _ => {
                        let written = writer.annotation(&arguments.root, arguments);
                        single_argument(format!("arguments: {written}"), false)
                    }
                }
            }
            Type::Union { .. } if arguments.is_mapping(&arguments.root) => single_argument(
                format!("arguments: {}", writer.annotation(&arguments.root, arguments)),
                false,
            ),
            _ if takes_anything(&spec.input_schema.value()) => {
                single_argument("arguments: Mapping[str, object] = {}".to_owned(), true)
            }
            _ => Self::nothing(),
        }
    }

    fn nothing() -> Self {
        Self {
            parameters: String::new(),
            passed: "{}".to_owned(),
            documentation: Vec::new(),
            spread: None,
            has_optional: false,
            takes_mapping: false,
        }
    }

    fn spread(fields: &[Field], arguments: &DeclaredTypes, writer: &mut DeclarationWriter) -> Self {
        let (required, optional): (Vec<_>, Vec<_>) = fields.iter().partition(|it| it.required);
        let mut parameters = Vec::new();
        for field in &required {
            parameters.push(format!(
                "{}: {}",
                field.name,
                writer.annotation(&field.value_type, arguments)
            ));
        }
        if !optional.is_empty() {
            parameters.push("*".to_owned());
        }
        for field in &optional {
            let written = writer.annotation(&field.value_type, arguments);
            parameters.push(format!("{}: {written} = UNSET", field.name));
        }
        let one_line = parameters.join(", ");
        let parameters = match one_line.len() <= 60 {
            true => one_line,
            false => format!("\n    {},\n", parameters.join(",\n    ")),
        };
        let pair = |field: &Field| format!("{}: {}", json_string(&field.name), field.name);
        let pairs: Vec<_> = fields.iter().map(pair).collect();
        let one_line = pairs.join(", ");
        let passed = match one_line.len() <= 60 {
            true => format!("{{{one_line}}}"),
            false => format!("{{\n        {},\n    }}", pairs.join(",\n        ")),
        };
        let mut documentation = Vec::new();
        for field in required.iter().chain(&optional) {
            let mut words = documentation_lines(&field.note).into_iter();
            if let Some(first) = words.next() {
                documentation.push(format!("    {}: {first}", field.name));
                documentation.extend(words.map(|line| format!("        {line}")));
            }
        }
        let has_optional = !optional.is_empty();
        Self {
            parameters,
            passed,
            documentation,
            spread: Some(0),
            has_optional,
            takes_mapping: false,
        }
    }
}

fn can_be_spread(fields: &[Field]) -> bool {
    let is_free = |name: &str| is_keyword_argument(name) && !["_call", "result"].contains(&name);
    fields.len() <= MAX_PARAMETERS && fields.iter().all(|it| is_free(&it.name))
}
