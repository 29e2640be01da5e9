//! The tools as a tree of files: a folder for each server, with a file for each tool and language.
//! The path of a file corresponds to the callable name: `mcp__sales__orders` is `sales/orders.pyi`.

use std::fmt::Write;

use onecall_core::{ServerName, ToolSpec};

use crate::comment::lines;
use crate::naming::name_prefix;
use crate::observed::ObservedOutput;
use crate::{python_signature_with, typescript_signature_with};

/// The prefix of every callable name.
const PREFIX: &str = "mcp__";

/// The language of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolFile {
    /// A Python stub.
    Python,
    /// A TypeScript declaration.
    TypeScript,
}

impl ToolFile {
    /// Every language.
    pub const ALL: [Self; 2] = [Self::Python, Self::TypeScript];

    /// The file name extension.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Python => ".pyi",
            Self::TypeScript => ".ts",
        }
    }

    /// The text of a tool's file, with its observed result type if the server declares none.
    #[must_use]
    pub fn text(self, spec: &ToolSpec, observed: Option<&ObservedOutput>) -> String {
        let (mark, signature) = match self {
            Self::Python => ("#", python_signature_with(spec, observed)),
            Self::TypeScript => ("//", typescript_signature_with(spec, observed)),
        };
        let call = signature.strip_prefix("await ").unwrap_or(&signature);
        // Only a type that the server does not declare has a remark.
        let separator = format!("  {mark} ");
        let (call, remark) = match spec.output_schema {
            Some(_) => (call, None),
            None => {
                call.rsplit_once(&separator).map_or((call, None), |(it, text)| (it, Some(text)))
            }
        };
        let declaration = match self {
            Self::Python => python_declaration(spec, call),
            Self::TypeScript => typescript_declaration(spec, call),
        };
        let mut text = String::new();
        for line in lines(spec.description.as_deref().unwrap_or_default()) {
            // Writing to a String cannot fail.
            _ = writeln!(text, "{}", format!("{mark} {line}").trim_end());
        }
        text.push_str(&declaration);
        if let Some(remark) = remark {
            text.push_str(&separator);
            text.push_str(remark);
        }
        text.push('\n');
        text
    }
}

/// The folder of a server: its name as in callable names.
#[must_use]
pub fn server_folder(server: &ServerName) -> String {
    let prefix = name_prefix(server);
    let name = prefix.strip_prefix(PREFIX).unwrap_or(&prefix);
    name.strip_suffix("__").unwrap_or(name).to_owned()
}

/// The folder of a tool and the name of its files without extension. `None` if its callable name
/// does not have the usual form.
#[must_use]
pub fn tool_file_location(spec: &ToolSpec) -> Option<(String, &str)> {
    let stem = spec.callable.as_str().strip_prefix(&name_prefix(&spec.server))?;
    Some((server_folder(&spec.server), stem))
}

/// The callable name of the tool at a path.
#[must_use]
pub fn callable_name_at(folder: &str, stem: &str) -> String {
    format!("{PREFIX}{folder}__{stem}")
}

fn python_declaration(spec: &ToolSpec, call: &str) -> String {
    let definition = match call.split_once("({") {
        // A single dict, which has no parameter name in the call.
        Some((name, rest)) if name == spec.callable.as_str() => match rest.split_once("}) -> ") {
            Some((entries, returns)) => format!("{name}(arguments: {{{entries}}}, /) -> {returns}"),
            None => call.to_owned(),
        },
        _ => call.to_owned(),
    };
    format!("async def {definition}: ...")
}

fn typescript_declaration(spec: &ToolSpec, call: &str) -> String {
    let definition = match call.split_once("({ ") {
        Some((name, rest)) if name == spec.callable.as_str() => {
            format!("{name}(args: {{ {rest}")
        }
        _ => call.to_owned(),
    };
    format!("export declare function {definition};")
}

#[cfg(test)]
mod tests {
    use onecall_core::{CallableName, ToolAnnotations, ToolName};
    use serde_json::{Value, json};

    use super::*;

    fn spec(server: &str, tool: &str, input_schema: Value) -> ToolSpec {
        let (server, tool) = (ServerName::new(server), ToolName::new(tool));
        ToolSpec {
            callable: CallableName::new(crate::natural_name(&server, &tool)),
            server,
            tool,
            description: Some("First line.\n\n  Second\u{7}.\n".into()),
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: ToolAnnotations::default(),
        }
    }

    #[test]
    fn a_place_is_a_name_taken_apart() {
        let spec = spec("my-data", "list.orders", json!({}));
        assert_eq!(tool_file_location(&spec), Some(("my_data".to_owned(), "list_orders")));
        assert_eq!(callable_name_at("my_data", "list_orders"), spec.callable.as_str());
    }

    #[test]
    fn a_file_says_what_a_tool_does_and_takes() {
        let text = json!({ "type": "string" });
        let plain = json!({ "properties": { "region": text }, "required": ["region"] });
        let plain = spec("s", "t", plain);
        assert_eq!(
            ToolFile::Python.text(&plain, None),
            "# First line.\n#\n#   Second\\u{7}.\nasync def mcp__s__t(region: str) -> Any: ...  \
             # not declared; JSON text arrives parsed: print a small result first\n"
        );
        assert_eq!(
            ToolFile::TypeScript.text(&plain, None),
            "// First line.\n//\n//   Second\\u{7}.\n\
             export declare function mcp__s__t(args: { region: string }): Promise<unknown>;  \
             // not declared; JSON text arrives parsed: print a small result first\n"
        );
        let odd = spec("s", "t", json!({ "properties": { "from": text }, "required": ["from"] }));
        assert_eq!(
            ToolFile::Python.text(&odd, None).lines().last(),
            Some(
                "async def mcp__s__t(arguments: {\"from\": str}, /) -> Any: ...  \
                 # not declared; JSON text arrives parsed: print a small result first"
            )
        );
    }

    #[test]
    fn a_file_says_what_results_looked_like() {
        let spec = spec("s", "t", json!({}));
        let observed = ObservedOutput { schema: json!({ "type": "integer" }), samples: 3 };
        let last = |file: ToolFile| {
            let text = file.text(&spec, Some(&observed));
            text.lines().last().map(str::to_owned)
        };
        assert_eq!(
            last(ToolFile::Python).as_deref(),
            Some("async def mcp__s__t() -> int: ...  # observed in 3 calls")
        );
        assert_eq!(
            last(ToolFile::TypeScript).as_deref(),
            Some("export declare function mcp__s__t(): Promise<number>;  // observed in 3 calls")
        );
    }
}
