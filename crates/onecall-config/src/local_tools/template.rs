//! Text with placeholders for arguments of a call: `--count={count}`. `{{` and `}}` stand for
//! braces. Environment variables are expanded when the configuration is read; their values are
//! never interpreted as placeholders.

use std::fmt;

use thiserror::Error;

use crate::expand::{Environment, ExpandError, expand};

/// The longest argument name in a placeholder.
const MAX_NAME: usize = 128;

/// A text with placeholders.
#[derive(Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<TemplatePart>,
}

/// A part of a template.
#[derive(Clone, PartialEq, Eq)]
pub enum TemplatePart {
    /// Literal text. Never empty.
    Text(String),
    /// A placeholder for this argument.
    Argument(String),
}

/// Why a text is not a valid template. It shows nothing of the text, which may be a secret.
#[derive(Debug, PartialEq, Eq, Error)]
pub(crate) enum TemplateError {
    #[error("a '{{' has no closing '}}'")]
    Unclosed,
    #[error("a '}}' has no opening '{{'")]
    Unopened,
    #[error("a '{{' is not followed by the name of an argument")]
    InvalidName,
    #[error("{0}")]
    Variable(#[from] ExpandError),
}

impl TemplateError {
    pub(crate) fn help(&self) -> String {
        match self {
            Self::Unclosed | Self::Unopened | Self::InvalidName => {
                "write {name} for an argument, and {{ or }} for a brace".to_owned()
            }
            Self::Variable(error) => error.help(),
        }
    }
}

impl Template {
    /// The parts of the template, in order.
    #[must_use]
    pub fn parts(&self) -> &[TemplatePart] {
        &self.parts
    }

    /// The names of the arguments in the template, in order.
    pub fn arguments(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|piece| match piece {
            TemplatePart::Argument(name) => Some(name.as_str()),
            TemplatePart::Text(_) => None,
        })
    }

    /// The text, if the template has no placeholders.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [TemplatePart::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub(crate) fn holds_nul(&self) -> bool {
        self.parts
            .iter()
            .any(|piece| matches!(piece, TemplatePart::Text(text) if text.contains('\0')))
    }

    pub(crate) fn parse(text: &str, environment: &Environment<'_>) -> Result<Self, TemplateError> {
        let mut template = Self { parts: Vec::new() };
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            let (before, reference) = rest.split_at(at);
            template.add_braces(before)?;
            // Without a closing brace the rest is passed on, and `expand` reports the problem.
            let end = reference.find('}').map_or(reference.len(), |end| end + 1);
            let (reference, after) = reference.split_at(end);
            template.add_text(&expand(reference, environment)?);
            rest = after;
        }
        template.add_braces(rest)?;
        Ok(template)
    }

    fn add_braces(&mut self, text: &str) -> Result<(), TemplateError> {
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, brace) = rest.split_at(at);
            self.add_text(before);
            if let Some(after) = brace.strip_prefix("{{") {
                self.add_text("{");
                rest = after;
            } else if let Some(after) = brace.strip_prefix("}}") {
                self.add_text("}");
                rest = after;
            } else if let Some(inside) = brace.strip_prefix('{') {
                let (name, after) = inside.split_once('}').ok_or(TemplateError::Unclosed)?;
                if !is_name(name) {
                    return Err(TemplateError::InvalidName);
                }
                self.parts.push(TemplatePart::Argument(name.to_owned()));
                rest = after;
            } else {
                return Err(TemplateError::Unopened);
            }
        }
        self.add_text(rest);
        Ok(())
    }

    fn add_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            _ if text.is_empty() => {}
            Some(TemplatePart::Text(last)) => last.push_str(text),
            _ => self.parts.push(TemplatePart::Text(text.to_owned())),
        }
    }
}

/// Whether this can be the name of an argument. JSON in a command contains braces that are not
/// placeholders.
fn is_name(name: &str) -> bool {
    let is_part = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | '.' | '$');
    (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_part)
}

impl fmt::Debug for Template {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[template]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "KEY" => Some("k{x}}".into()),
            "EMPTY" => Some(String::new()),
            _ => None,
        }
    }

    fn parse(text: &str) -> Result<String, TemplateError> {
        let template = Template::parse(text, &Environment::new(&environment))?;
        let shown = template.parts().iter().map(|piece| match piece {
            TemplatePart::Text(text) => format!("'{text}'"),
            TemplatePart::Argument(name) => format!("<{name}>"),
        });
        Ok(shown.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn placeholders_and_braces() {
        let rows = [
            ("", Ok("")),
            ("plain", Ok("'plain'")),
            ("{x}", Ok("<x>")),
            ("--a={x}.{y-1}", Ok("'--a=' <x> '.' <y-1>")),
            ("{x}{y}", Ok("<x> <y>")),
            ("{{x}}", Ok("'{x}'")),
            ("{{{x}}}", Ok("'{' <x> '}'")),
            ("}}{{", Ok("'}{'")),
            ("ü{ü}☃", Ok("'ü' <ü> '☃'")),
            // What a variable holds is text, braces and all.
            ("${KEY}", Ok("'k{x}}'")),
            ("a${KEY}{x}", Ok("'ak{x}}' <x>")),
            ("{{${EMPTY}}}", Ok("'{}'")),
            ("${EMPTY}{x}", Ok("<x>")),
            ("$x $$", Ok("'$x $$'")),
            ("{", Err(TemplateError::Unclosed)),
            ("{x", Err(TemplateError::Unclosed)),
            ("{x${EMPTY}}", Err(TemplateError::Unclosed)),
            ("x}", Err(TemplateError::Unopened)),
            ("{}", Err(TemplateError::InvalidName)),
            ("{ x }", Err(TemplateError::InvalidName)),
            (r#"{"token": "abc"}"#, Err(TemplateError::InvalidName)),
            ("{a{b}", Err(TemplateError::InvalidName)),
            ("${NONE}", Err(TemplateError::Variable(ExpandError::Missing("NONE".into())))),
            ("${KEY", Err(TemplateError::Variable(ExpandError::Unclosed))),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text), expected.map(str::to_owned), "{text}");
        }
    }
}
