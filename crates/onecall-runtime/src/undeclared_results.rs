//! What tools without a declared result type returned to a program. If the program then fails on a
//! value, the answer says what it had in hand.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use onecall_catalog::{PythonText, is_like_json};
use onecall_core::text::visible_line;
use onecall_core::{CallableName, ErrorSummary, Language, ToolValue};

/// The tools whose last results are kept.
const MAX_TOOLS: usize = 2;

/// Bytes of a result that are kept, and characters of it that are shown.
const KEPT_BYTES: usize = 300;
const SHOWN_CHARS: usize = 60;

/// The exceptions of programs that use a value of another type than they expect.
/// `ast.literal_eval` and `parsePythonLiteral` raise a `SyntaxError`; a program whose own syntax is
/// wrong has no results.
const PYTHON_ERRORS: [&str; 8] = [
    "AttributeError",
    "IndexError",
    "JSONDecodeError",
    "KeyError",
    "StopIteration",
    "SyntaxError",
    "TypeError",
    "ValueError",
];
const TYPESCRIPT_ERRORS: [&str; 2] = ["SyntaxError", "TypeError"];

/// The last results of tools whose servers declare no result type.
#[derive(Debug, Default)]
pub(crate) struct UndeclaredResults {
    results: Mutex<VecDeque<UndeclaredResult>>,
}

#[derive(Debug)]
struct UndeclaredResult {
    tool: CallableName,
    kind: ResultKind,
    /// The beginning of the result.
    beginning: String,
    is_complete: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResultKind {
    /// Text that is not JSON but a literal as Python prints it.
    PythonLiteral,
    /// Text that is not JSON but a value as Python prints it, which is no literal.
    PythonExpression,
    Text,
    List,
    Object,
    /// A number, a truth value, null or nothing.
    Other,
}

impl UndeclaredResults {
    /// Keeps the beginning of a result.
    pub(crate) fn remember(&self, tool: &CallableName, value: &ToolValue) {
        let (text, is_json) = match value {
            ToolValue::WithContent { value, .. } => return self.remember(tool, value),
            ToolValue::Nothing => return,
            ToolValue::Json(json) => (json.get(), true),
            ToolValue::Text(text) => (text.as_str(), false),
        };
        let decoded = decoded_string(text);
        let (text, is_json) = match &decoded {
            Some(text) => (text.as_str(), false),
            None => (text, is_json),
        };
        let beginning = text.get(..text.floor_char_boundary(KEPT_BYTES)).unwrap_or_default();
        let result = UndeclaredResult {
            tool: tool.clone(),
            kind: ResultKind::of(text, is_json, decoded.is_some()),
            beginning: beginning.to_owned(),
            is_complete: beginning.len() == text.len(),
        };
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        results.retain(|it| it.tool != *tool);
        if results.len() >= MAX_TOOLS {
            results.pop_front();
        }
        results.push_back(result);
    }

    /// One line for each result that may be the cause of a failure.
    pub(crate) fn remarks(&self, error: &ErrorSummary, language: Language) -> Vec<String> {
        let errors: &[&str] = match language {
            Language::Python => &PYTHON_ERRORS,
            Language::TypeScript => &TYPESCRIPT_ERRORS,
        };
        let is_about_values = error.has_value_error || errors.contains(&error.kind.as_str());
        let results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = results.iter().filter(|_| is_about_values);
        shown.map(|result| result.remark(language)).collect()
    }
}

/// The string that a JSON text is, if it is one.
fn decoded_string(text: &str) -> Option<String> {
    /// A longer string is shown as it is written.
    const MAX_DECODED: usize = 64 * 1024;
    let is_string = text.len() <= MAX_DECODED && text.trim_start().starts_with('"');
    is_string.then(|| serde_json::from_str(text).ok())?
}

impl ResultKind {
    fn of(text: &str, is_json: bool, is_string: bool) -> Self {
        let first = text.trim_start().chars().next();
        match first {
            Some('[' | '{') if is_json || (!is_string && is_like_json(text)) => match first {
                Some('[') => Self::List,
                _ => Self::Object,
            },
            Some('0'..='9' | '-' | 't' | 'f' | 'n') if is_json => Self::Other,
            _ => match PythonText::of(text) {
                Some(PythonText::Literal) => Self::PythonLiteral,
                Some(PythonText::Expression) => Self::PythonExpression,
                None => Self::Text,
            },
        }
    }

    fn is_text(self) -> bool {
        matches!(self, Self::PythonLiteral | Self::PythonExpression | Self::Text)
    }

    fn name(self, language: Language) -> &'static str {
        match (self, language) {
            (_, Language::Python) if self.is_text() => "str",
            (_, Language::TypeScript) if self.is_text() => "a string",
            (Self::List, Language::Python) => "list",
            (Self::List, Language::TypeScript) => "an array",
            (Self::Object, Language::Python) => "dict",
            (Self::Object, Language::TypeScript) => "an object",
            _ => "a plain value",
        }
    }
}

impl UndeclaredResult {
    fn remark(&self, language: Language) -> String {
        let line = visible_line(&self.beginning);
        let mut shown: String = line.chars().take(SHOWN_CHARS).collect();
        if !self.is_complete || line.chars().nth(SHOWN_CHARS).is_some() {
            shown.push('…');
        }
        if self.kind.is_text() {
            shown = format!("\"{shown}\"");
        }
        let advice = match (self.kind, language) {
            (ResultKind::PythonLiteral, Language::Python) => {
                "; it is a Python literal, not JSON: ast.literal_eval(text) reads it"
            }
            (ResultKind::PythonLiteral, Language::TypeScript) => {
                "; it is a Python literal, not JSON: parsePythonLiteral(text) reads it"
            }
            (ResultKind::PythonExpression, _) => {
                "; it is text as Python prints objects, which no parser reads: search it with a \
                 regular expression"
            }
            _ => "",
        };
        let Self { tool, kind, .. } = self;
        format!("{tool} returned {}: {shown}{advice}", kind.name(language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_named_with_its_type_and_how_to_read_it() {
        let remark = |text: &str, language| {
            let results = UndeclaredResults::default();
            results.remember(&CallableName::new("mcp__s__t"), &ToolValue::Text(text.to_owned()));
            let error = ErrorSummary { kind: "TypeError".to_owned(), ..ErrorSummary::default() };
            results.remarks(&error, language).concat()
        };
        for (text, python, typescript) in [
            (
                "[{'a': 'DE'}]",
                "mcp__s__t returned str: \"[{'a': 'DE'}]\"; it is a Python literal, not JSON: \
                 ast.literal_eval(text) reads it",
                "mcp__s__t returned a string: \"[{'a': 'DE'}]\"; it is a Python literal, not JSON: \
                 parsePythonLiteral(text) reads it",
            ),
            ("\"[1]\"", "mcp__s__t returned str: \"[1]\"", "mcp__s__t returned a string: \"[1]\""),
            ("[1, 2]", "mcp__s__t returned list: [1, 2]", "mcp__s__t returned an array: [1, 2]"),
            (
                "[1, 'x', None]",
                "mcp__s__t returned str: \"[1, 'x', None]\"; it is a Python literal, not JSON: \
                 ast.literal_eval(text) reads it",
                "mcp__s__t returned a string: \"[1, 'x', None]\"; it is a Python literal, not JSON: \
                 parsePythonLiteral(text) reads it",
            ),
            (
                "[datetime.date(2026, 1, 1)]",
                "mcp__s__t returned str: \"[datetime.date(2026, 1, 1)]\"; it is text as Python \
                 prints objects, which no parser reads: search it with a regular expression",
                "mcp__s__t returned a string: \"[datetime.date(2026, 1, 1)]\"; it is text as Python \
                 prints objects, which no parser reads: search it with a regular expression",
            ),
            (
                "[INFO] started",
                "mcp__s__t returned str: \"[INFO] started\"",
                "mcp__s__t returned a string: \"[INFO] started\"",
            ),
            (
                "two\nlines",
                "mcp__s__t returned str: \"two\\u{a}lines\"",
                "mcp__s__t returned a string: \"two\\u{a}lines\"",
            ),
        ] {
            assert_eq!(remark(text, Language::Python), python);
            assert_eq!(remark(text, Language::TypeScript), typescript);
        }
        let long = remark(&format!("{{\"rows\": [{}1]}}", "1, ".repeat(500)), Language::Python);
        assert!(long.ends_with("1, 1…") || long.ends_with(",…") || long.ends_with(" …"), "{long}");
        assert_eq!(long.chars().filter(|it| *it == '…').count(), 1);
    }

    #[test]
    fn other_failures_and_later_results_are_not_named() {
        let results = UndeclaredResults::default();
        for tool in ["a", "b", "c", "b"] {
            results.remember(&CallableName::new(tool), &ToolValue::Text(tool.to_owned()));
        }
        let named = |kind: &str| {
            let error = ErrorSummary { kind: kind.to_owned(), ..ErrorSummary::default() };
            results.remarks(&error, Language::Python)
        };
        assert_eq!(named("KeyError"), ["c returned str: \"c\"", "b returned str: \"b\""]);
        assert_eq!(named("SyntaxError").len(), 2);
        assert_eq!(named("ToolError"), [""; 0]);
        assert_eq!(named("ExceptionGroup"), [""; 0]);
        let kind = "ExceptionGroup".to_owned();
        let group = ErrorSummary { kind, has_value_error: true, ..ErrorSummary::default() };
        assert_eq!(results.remarks(&group, Language::Python).len(), 2);
    }
}
