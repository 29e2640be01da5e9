//! What a durable run executes, in the form in which the store keeps it: everything that is needed
//! to start the run again in another process.

use std::time::Duration;

use onecall_core::{CallerCapabilities, EngineChoice, Language, OutcomeDetail, Program, RunKind};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The work of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunRequest {
    /// A program.
    Program {
        /// The program.
        program: Program,
        /// The file that the program was saved as, if it was.
        file: Option<String>,
    },
    /// The arguments of `proxy`.
    Plan(Map<String, Value>),
    /// A direct call of an exposed tool.
    ExposedTool {
        /// The callable name of the tool.
        name: String,
        /// The arguments of the call.
        arguments: Map<String, Value>,
    },
}

/// What the store keeps to execute a run again.
#[derive(Debug, PartialEq)]
pub(super) struct StoredRun {
    pub(super) request: RunRequest,
    /// What the client that began the run can be asked.
    pub(super) capabilities: CallerCapabilities,
}

/// The stored form of a [`StoredRun`].
#[derive(Serialize, Deserialize)]
struct StoredText {
    #[serde(flatten)]
    request: StoredRequest,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    client_capabilities: Value,
}

/// The stored form of a [`RunRequest`].
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum StoredRequest {
    Program {
        #[serde(flatten)]
        program: StoredProgram,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    Plan {
        arguments: Map<String, Value>,
    },
    ExposedTool {
        name: String,
        arguments: Map<String, Value>,
    },
}

#[derive(Serialize, Deserialize)]
struct StoredProgram {
    code: String,
    language: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    /// Whether everything about the outcome is wanted.
    #[serde(default)]
    whole: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
}

impl RunRequest {
    /// The kind of run in records.
    #[must_use]
    pub fn kind(&self) -> RunKind {
        match self {
            Self::Program { .. } => RunKind::Program,
            Self::Plan(_) => RunKind::Plan,
            Self::ExposedTool { .. } => RunKind::ExposedTool,
        }
    }

    /// The request as JSON, with the capabilities of its client. The session of a program is left
    /// out: such a program cannot be repeated.
    pub(crate) fn to_json(&self, capabilities: &CallerCapabilities) -> String {
        let request = match self {
            Self::Program { program, file } => {
                StoredRequest::Program { program: StoredProgram::of(program), file: file.clone() }
            }
            Self::Plan(arguments) => StoredRequest::Plan { arguments: arguments.clone() },
            Self::ExposedTool { name, arguments } => {
                StoredRequest::ExposedTool { name: name.clone(), arguments: arguments.clone() }
            }
        };
        let client_capabilities = serde_json::from_str(&capabilities.to_json()).unwrap_or_default();
        serde_json::to_string(&StoredText { request, client_capabilities }).unwrap_or_default()
    }
}

impl StoredRun {
    /// Reads what [`RunRequest::to_json`] has written; `None` for anything else.
    pub(super) fn from_json(text: &str) -> Option<Self> {
        let StoredText { request, client_capabilities } = serde_json::from_str(text).ok()?;
        let request = match request {
            StoredRequest::Program { program, file } => {
                RunRequest::Program { program: program.restore()?, file }
            }
            StoredRequest::Plan { arguments } => RunRequest::Plan(arguments),
            StoredRequest::ExposedTool { name, arguments } => {
                RunRequest::ExposedTool { name, arguments }
            }
        };
        Some(Self { request, capabilities: CallerCapabilities::of(&client_capabilities) })
    }
}

impl StoredProgram {
    fn of(program: &Program) -> Self {
        // Every field is named, so that the compiler reports a new one that is not stored.
        let Program { code, language, engine, timeout, session: _, detail, argv } = program;
        let name = |choice: &EngineChoice| {
            EngineChoice::NAMES.iter().find(|it| it.1 == *choice).map(|it| it.0.to_owned())
        };
        let language = Language::NAMES.iter().find(|it| it.1 == *language).map(|it| it.0);
        let milliseconds =
            |timeout: Duration| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        Self {
            code: code.clone(),
            language: language.unwrap_or_default().to_owned(),
            engine: engine.as_ref().and_then(name),
            timeout_ms: timeout.map(milliseconds),
            whole: *detail == OutcomeDetail::Whole,
            argv: argv.clone(),
        }
    }

    fn restore(self) -> Option<Program> {
        let engine = match self.engine {
            Some(name) => Some(EngineChoice::named(&name)?),
            None => None,
        };
        Some(Program {
            language: Language::named(&self.language)?,
            engine,
            timeout: self.timeout_ms.map(Duration::from_millis),
            detail: if self.whole { OutcomeDetail::Whole } else { OutcomeDetail::Brief },
            argv: self.argv,
            ..Program::new(self.code)
        })
    }
}

#[cfg(test)]
mod tests {
    use onecall_core::EngineName;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_survives_being_stored() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let program = Program {
            engine: Some(EngineChoice::Only(EngineName::Python)),
            timeout: Some(Duration::from_millis(1_500)),
            detail: OutcomeDetail::Whole,
            argv: vec!["a.py".to_owned(), "-x".to_owned()],
            ..Program::new("print('\u{202e}')")
        };
        let requests = [
            RunRequest::Program { program, file: Some("/work/a.py".to_owned()) },
            RunRequest::Program {
                program: Program {
                    language: Language::TypeScript,
                    ..Program::new("console.log(1)")
                },
                file: None,
            },
            RunRequest::Plan(object(json!({ "target_tool": "t", "tool_args": { "a": [1] } }))),
            RunRequest::ExposedTool {
                name: "mcp__s__t".to_owned(),
                arguments: object(json!({ "a": null })),
            },
        ];
        let capabilities = CallerCapabilities::of(&json!({ "elicitation": { "form": {} } }));
        for request in requests {
            let text = request.to_json(&capabilities);
            let stored = StoredRun { request, capabilities: capabilities.clone() };
            assert_eq!(StoredRun::from_json(&text), Some(stored));
        }
        for text in ["", "{}", r#"{"kind":"program","code":"","language":"cobol"}"#] {
            assert_eq!(StoredRun::from_json(text), None);
        }
    }
}
