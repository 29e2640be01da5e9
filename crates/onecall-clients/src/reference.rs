//! Translates clients' references to variables into those of onecall: `${NAME}`,
//! `${NAME:-default}`.

use crate::client::Client;

/// The context in which the references of a client's file are translated.
pub(crate) struct ReferenceTranslator<'d> {
    pub(crate) client: Client,
    /// The folder of the project that the file belongs to.
    pub(crate) project: &'d str,
    /// The variables that the server's own entry sets.
    pub(crate) own_variables: &'d [String],
}

/// A dollar sign in a form that onecall does not read as the beginning of a reference.
const DOLLAR: &str = "${DOLLAR:-$}";

impl ReferenceTranslator<'_> {
    /// Translates every reference in `text`; hints for the user are added to `notes`.
    pub(crate) fn translate(&self, text: &str, notes: &mut Vec<String>) -> String {
        let mut translated = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, reference) = rest.split_at(at);
            translated.push_str(before);
            let (written, length) = self.translate_reference(reference, notes);
            translated.push_str(&written);
            rest = reference.get(length..).unwrap_or_default();
        }
        translated.push_str(rest);
        translated
    }

    /// Translates the reference at the beginning of `text`, and returns its length.
    fn translate_reference(&self, text: &str, notes: &mut Vec<String>) -> (String, usize) {
        if let Some(inner) = text.strip_prefix("${{")
            && let Some((inner, _)) = inner.split_once("}}")
        {
            let name = inner.trim().rsplit('.').next().unwrap_or_default();
            let variable = variable_name(name);
            notes.push(format!("'{variable}' must be set in the environment"));
            return (format!("${{{variable}}}"), inner.len() + 5);
        }
        if let Some(inner) = text.strip_prefix("${") {
            let Some((inner, _)) = inner.split_once('}') else {
                return (DOLLAR.to_owned(), 1);
            };
            return (self.translate_braced(inner, notes), inner.len() + 3);
        }
        let name: String = text.chars().skip(1).take_while(|c| is_name_part(*c)).collect();
        let is_name = name.starts_with(|first: char| !first.is_ascii_digit());
        if self.client == Client::Gemini && is_name {
            let length = name.len() + 1;
            return (format!("${{{name}}}"), length);
        }
        ("$".to_owned(), 1)
    }

    fn translate_braced(&self, inner: &str, notes: &mut Vec<String>) -> String {
        let (kind, name) = inner.split_once(':').unwrap_or(("", inner));
        let expands = matches!(self.client, Client::ClaudeCode | Client::Gemini);
        match (kind, name) {
            ("env", name) if is_name(name) => format!("${{{name}}}"),
            ("input", name) => {
                let variable = variable_name(name);
                notes.push(format!(
                    "{} asks for '{name}'; set '{variable}' in the environment",
                    self.client
                ));
                format!("${{{variable}}}")
            }
            ("", "workspaceFolder" | "workspaceRoot" | "cwd") => self.project.to_owned(),
            ("", "workspaceFolderBasename") => {
                let name = self.project.rsplit(['/', '\\']).next();
                name.unwrap_or_default().to_owned()
            }
            ("", "userHome") => "${HOME}".to_owned(),
            ("", "pathSeparator" | "/") => std::path::MAIN_SEPARATOR.to_string(),
            // A client that does not expand the reference passes it to the server, which may expand
            // it itself. That is likely if the entry sets the variable.
            ("", name) if !expands && self.own_variables.iter().any(|own| own == name) => {
                format!("{DOLLAR}{{{name}}}")
            }
            ("", name) if is_name(name) => format!("${{{name}}}"),
            (name, default) if is_name(name) && default.starts_with('-') => {
                format!("${{{name}:{default}}}")
            }
            _ => {
                let variable = variable_name(inner);
                notes.push(format!(
                    "only {} knows what '${{{inner}}}' stands for; set '{variable}' in the environment",
                    self.client
                ));
                format!("${{{variable}}}")
            }
        }
    }
}

/// The variables without a default that a text of onecall's configuration refers to.
#[must_use]
pub fn referenced_variables(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("${") {
        let Some((reference, tail)) = after.split_once('}') else { break };
        if is_name(reference) && !names.contains(&reference) {
            names.push(reference);
        }
        rest = tail;
    }
    names
}

/// Converts a text into a valid name of a variable.
#[must_use]
pub fn variable_name(text: &str) -> String {
    let mut name: String =
        text.chars().map(|c| if is_name_part(c) { c.to_ascii_uppercase() } else { '_' }).collect();
    if name.starts_with(|first: char| first.is_ascii_digit()) || name.is_empty() {
        name.insert(0, '_');
    }
    name
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| is_name_part(first) && !first.is_ascii_digit())
        && text.chars().all(is_name_part)
}

fn is_name_part(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(client: Client, text: &str) -> (String, usize) {
        let own = ["OWN".to_owned()];
        let translator = ReferenceTranslator { client, project: "/work/shop", own_variables: &own };
        let mut notes = Vec::new();
        let text = translator.translate(text, &mut notes);
        (text, notes.len())
    }

    #[test]
    fn each_clients_references() {
        let rows = [
            (Client::ClaudeCode, "a${X}b${Y:-d e}", "a${X}b${Y:-d e}", 0),
            (Client::ClaudeCode, "$X $5 $$", "$X $5 $$", 0),
            (Client::ClaudeCode, "${OWN}", "${OWN}", 0),
            (Client::ClaudeDesktop, "Authorization:${OWN}", "Authorization:${DOLLAR:-$}{OWN}", 0),
            (Client::ClaudeDesktop, "${OTHER}", "${OTHER}", 0),
            (Client::Cursor, "Bearer ${env:TOKEN}", "Bearer ${TOKEN}", 0),
            (Client::Cursor, "${userHome}/x", "${HOME}/x", 0),
            (Client::VsCode, "${workspaceFolder}/data", "/work/shop/data", 0),
            (Client::VsCode, "${workspaceFolderBasename}", "shop", 0),
            (Client::VsCode, "${input:github-token}", "${GITHUB_TOKEN}", 1),
            (Client::VsCode, "${command:pick.it}", "${COMMAND_PICK_IT}", 1),
            (Client::Gemini, "$KEY-${X}", "${KEY}-${X}", 0),
            (Client::Continue, "${{ secrets.API_KEY }}!", "${API_KEY}!", 1),
            (Client::Codex, "open ${ and $", "open ${DOLLAR:-$}{ and $", 0),
        ];
        for (client, text, expected, notes) in rows {
            assert_eq!(translated(client, text), (expected.to_owned(), notes), "{text}");
        }
    }

    #[test]
    fn what_must_be_set() {
        assert_eq!(referenced_variables("${A}x${B:-c}${A}${C_1} ${ }"), ["A", "C_1"]);
    }
}
