//! Generates the TypeScript file of a tool: its types, and an async function that calls it.

use std::collections::HashSet;

use onecall_core::ToolSpec;

use super::declaration::{annotation, declaration};
use crate::casing::pascal_case;
use crate::comment::{jsdoc, lines};
use crate::literal::json_string;
use crate::observed::{ObservedOutput, ResultType, rounded_observation_note};
use crate::python::header_line;
use crate::types::{DeclarationBody, DeclaredTypes, Type, Types, free_name, takes_anything};

/// Names that every generated file uses, so that no type can have them.
const RESERVED_TYPE_NAMES: [&str; 6] =
    ["Promise", "Record", "Array", "Error", "ToolError", "Object"];

/// Words that cannot be names of functions.
const RESERVED: [&str; 53] = [
    "any",
    "arguments",
    "as",
    "async",
    "await",
    "boolean",
    "break",
    "call",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
];

/// A tool's file and the types that it exports besides the function.
pub(crate) struct TypeScriptFile {
    pub(crate) text: String,
    pub(crate) types: Vec<String>,
}

/// A valid local name for a function; the original name is exported as well if it differs.
pub(crate) fn local_name(function: &str) -> String {
    match RESERVED.contains(&function) || function == "yield" {
        true => format!("{function}_"),
        false => function.to_owned(),
    }
}

/// The TypeScript file of a tool. `function` is the name of its export.
pub(crate) fn typescript_file(
    spec: &ToolSpec,
    function: &str,
    observed: Option<&ObservedOutput>,
) -> TypeScriptFile {
    let mut base = pascal_case(function);
    if !base.starts_with(|it: char| it.is_ascii_alphabetic()) {
        base.insert_str(0, "Tool");
    }
    let mut taken: HashSet<String> =
        RESERVED_TYPE_NAMES.iter().map(|it| (*it).to_owned()).collect();
    let input = Types::of(&spec.input_schema);
    let arguments = DeclaredTypes::new(&input, &base, "arguments", &mut taken);
    let (parameter, passed) = parameter(spec, &arguments);
    let mut exported = Vec::new();
    let mut declarations = Vec::new();
    if !parameter.is_empty() {
        declarations.extend(arguments.declarations.iter().map(|it| declaration(it, &arguments)));
        exported.extend(arguments.root_name().map(str::to_owned));
    }
    let result = ResultType::of(spec, observed);
    let mut documentation = lines(spec.description.as_deref().unwrap_or_default());
    if documentation.concat().is_empty() {
        documentation = vec![format!("Calls {}.", json_string(spec.tool.as_str()))];
    }
    let returns = match &result {
        ResultType::Declared(types) | ResultType::Observed(types, _) => {
            let declared = DeclaredTypes::new(types, &base, "result", &mut taken);
            declarations.extend(declared.declarations.iter().map(|it| declaration(it, &declared)));
            if let ResultType::Observed(_, samples) = result {
                documentation.extend([
                    String::new(),
                    format!("@returns The {}.", rounded_observation_note(samples)),
                ]);
            }
            let written = annotation(&declared.root, &declared);
            match declared.root_name() {
                Some(name) => {
                    exported.push(name.to_owned());
                    written
                }
                None if written == "unknown" => written,
                None => {
                    let name = free_name(&base, "result", &mut taken);
                    declarations.push(format!("export type {name} = {written};\n"));
                    exported.push(name.clone());
                    name
                }
            }
        }
        ResultType::Unknown => "unknown".to_owned(),
    };

    let local = local_name(function);
    let mut text =
        format!("// {}\n\nimport {{ call }} from \"../../client.js\";\n", header_line(spec));
    for declaration in declarations {
        text.push('\n');
        text.push_str(&declaration);
    }
    let name = json_string(spec.callable.as_str());
    let cast = if returns == "unknown" { String::new() } else { format!(" as {returns}") };
    let called = match cast.is_empty() {
        true => format!("await call({name}, {passed})"),
        false => format!("(await call({name}, {passed})){cast}"),
    };
    text.push_str(&format!(
        "\n{}export async function {local}({parameter}): Promise<{returns}> {{\n  return {called};\n}}\n",
        jsdoc(&documentation, ""),
    ));
    if local != function && function != "default" {
        text.push_str(&format!("\nexport {{ {local} as {function} }};\n"));
    }
    TypeScriptFile { text, types: exported }
}

/// The parameter of the function, and the expression that it passes on.
fn parameter(spec: &ToolSpec, arguments: &DeclaredTypes) -> (String, &'static str) {
    let nothing = || (String::new(), "{}");
    match &arguments.root {
        root @ Type::Reference(number) if arguments.is_mapping(root) => {
            let written = annotation(root, arguments);
            let body = arguments.declarations.get(*number).map(|it| &it.body);
            let can_be_empty = match body {
                Some(DeclarationBody::Fields(object)) => {
                    object.fields.iter().all(|it| !it.required)
                }
                _ => false,
            };
            let default = if can_be_empty { " = {}" } else { "" };
            (format!("args: {written}{default}"), "args")
        }
        root @ Type::Union { .. } if arguments.is_mapping(root) => {
            (format!("args: {}", annotation(root, arguments)), "args")
        }
        _ if takes_anything(&spec.input_schema.value()) => {
            ("args: { [key: string]: unknown } = {}".to_owned(), "args")
        }
        _ => nothing(),
    }
}
