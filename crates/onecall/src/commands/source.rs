//! The source of `onecall run`: a file, standard input, or text on the command line.

use std::path::Path;

use onecall_core::{Failure, Language, Outcome};

use super::run::read;
use crate::cli::RunArguments;

/// The file name of a program in the text of a failure.
const UNNAMED: &str = "<program>";

/// A program's source, language and arguments.
pub(crate) struct ProgramSource {
    /// The source text.
    pub(crate) code: String,
    /// The language of the program.
    pub(crate) language: Language,
    /// A name for the program, followed by its arguments.
    pub(crate) argv: Vec<String>,
    /// The name of its file, if it comes from one.
    file_name: Option<String>,
}

impl ProgramSource {
    /// Reads the program that the command line specifies.
    pub(crate) fn read(arguments: &RunArguments) -> anyhow::Result<Self> {
        let RunArguments { file, eval, words, .. } = arguments;
        let file = file.as_deref();
        let named = arguments.language.as_deref().and_then(Language::named);
        let mut source = match (eval, file) {
            (Some(code), first) => {
                let first = first.map(|word| word.display().to_string());
                let argv = [String::from("-e")].into_iter().chain(first);
                let language = named.unwrap_or_default();
                Self { code: code.clone(), language, argv: argv.collect(), file_name: None }
            }
            (None, file) => {
                let file = file.unwrap_or(Path::new("-"));
                let name = file.file_name().unwrap_or(file.as_os_str());
                let name = name.to_string_lossy().into_owned();
                Self {
                    code: read(file, "program")?,
                    language: named.unwrap_or_else(|| language_of(file)),
                    argv: vec![name.clone()],
                    file_name: Some(name).filter(|name| name != "-"),
                }
            }
        };
        source.argv.extend_from_slice(words);
        Ok(source)
    }

    /// Replaces the placeholder in a failure by the name of the program's file.
    pub(crate) fn insert_file_name(&self, outcome: &mut Outcome) {
        if let Err(Failure::Raised { traceback: text, .. } | Failure::Refused { text, .. }) =
            &mut outcome.result
        {
            *text = self.named(text);
        }
    }

    /// A traceback with the name of the program's file.
    pub(crate) fn named(&self, traceback: &str) -> String {
        match &self.file_name {
            Some(name) => with_file_name(traceback, name),
            None => traceback.to_owned(),
        }
    }
}

/// The language of a program in `file`.
fn language_of(file: &Path) -> Language {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("ts" | "mts" | "js" | "mjs") => Language::TypeScript,
        _ => Language::Python,
    }
}

/// A traceback of either language, with `name` as the file of its positions.
fn with_file_name(traceback: &str, name: &str) -> String {
    let lines = traceback.split_inclusive('\n').map(|line| {
        let place = line.trim_start_matches([' ', '|', '+', '-']);
        let is_place = place.starts_with("File \"<program>\"")
            || place.starts_with("<program>:")
            || place.starts_with("at ") && place.contains("<program>:");
        if is_place { line.replacen(UNNAMED, name, 1) } else { line.to_owned() }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_places_in_a_traceback_get_the_name() {
        let raw = "Traceback (most recent call last):\n  File \"<program>\", line 3, in <module>\n  \
                   | File \"<program>\", line 4\nValueError: <program>: no\n    at load \
                   (<program>:3:9)\n    at <program>:5:1\n<program>:5:1\n";
        let named = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n  \
                     | File \"a.py\", line 4\nValueError: <program>: no\n    at load \
                     (a.py:3:9)\n    at a.py:5:1\na.py:5:1\n";
        assert_eq!(with_file_name(raw, "a.py"), named);
    }
}
