//! The registry of engines: their names and languages.
//!
//! To add an engine, add an entry here, its name in `onecall-core`, and the main function of its
//! workers.

use std::process::ExitCode;

use onecall_core::{BoxFuture, EngineChoice, EngineName, Failure, Language, Program};
use thiserror::Error;

use crate::engines::EngineSettings;
use crate::missing_modules::{self, CPythonStatus};
use crate::pool::EngineError;
use crate::sandbox_plan::Interpreter;
use crate::{cpython, python, typescript};

/// An engine as the registry describes it.
#[derive(Debug)]
pub struct EngineSpec {
    /// The name of the engine.
    pub name: EngineName,
    /// The name of the engine in a sentence.
    pub(crate) title: &'static str,
    /// The languages of the programs that it runs.
    pub languages: &'static [Language],
    /// The first argument of its zygote process.
    pub(crate) zygote: &'static str,
    /// The main function of its zygote process, which gets the second argument.
    pub(crate) run_zygote: fn(&str) -> ExitCode,
    /// Finds its interpreter on this machine; `None` if the interpreter is part of this binary.
    pub(crate) find_interpreter: Option<FindInterpreter>,
    /// Adds to a program's failure which module the engine lacks, and which other engine may have
    /// it.
    pub(crate) explain: fn(Failure, CPythonStatus<'_>) -> Failure,
}

/// A function that finds an interpreter on this machine.
pub(crate) type FindInterpreter =
    for<'a> fn(&'a EngineSettings) -> BoxFuture<'a, Result<Interpreter, EngineError>>;

/// All engines. For each language, the first engine is the default, and the next one runs programs
/// that import what the first one lacks.
pub const ENGINES: &[EngineSpec] = &[
    EngineSpec {
        name: EngineName::Python,
        title: "the embedded Python",
        languages: &[Language::Python],
        zygote: "python-zygote",
        run_zygote: python::run_zygote,
        find_interpreter: None,
        explain: missing_modules::explain,
    },
    EngineSpec {
        name: EngineName::CPython,
        title: "the system's Python",
        languages: &[Language::Python],
        zygote: "cpython-zygote",
        run_zygote: cpython::run_zygote,
        find_interpreter: Some(|settings| Box::pin(cpython::find_interpreter(settings))),
        explain: |failure, _| failure,
    },
    EngineSpec {
        name: EngineName::TypeScript,
        title: "the embedded TypeScript",
        languages: &[Language::TypeScript],
        zygote: "typescript-zygote",
        run_zygote: typescript::run_zygote,
        find_interpreter: None,
        explain: |failure, _| failure,
    },
];

/// Why an engine cannot run a program in a language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EngineMismatch {
    /// The language has a single engine, and another one was requested.
    #[error("an engine can be chosen for {} only; leave it out", titles(has_choice))]
    NoChoice,
    /// The engine runs other languages.
    #[error("the engine {} does not run {}", engine.name(), language.title())]
    OtherLanguage {
        /// The engine that was requested.
        engine: EngineName,
        /// The language of the program.
        language: Language,
    },
    /// No engine of the registry runs the language.
    #[error("no engine runs {}", language.title())]
    NoEngine {
        /// The language of the program.
        language: Language,
    },
}

impl From<EngineMismatch> for Failure {
    fn from(mismatch: EngineMismatch) -> Self {
        Self::refused("ValueError", mismatch.to_string())
    }
}

impl EngineSpec {
    /// Whether the engine runs programs in this language.
    #[must_use]
    pub fn runs(&self, language: Language) -> bool {
        self.languages.contains(&language)
    }

    /// Whether its interpreter is part of onecall; others may be missing on a machine.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        self.find_interpreter.is_none()
    }
}

/// Refuses an engine that does not run the language of a program.
pub fn check_choice(
    language: Language,
    engine: Option<EngineChoice>,
) -> Result<(), EngineMismatch> {
    let Some(EngineChoice::Only(engine)) = engine else { return Ok(()) };
    match ENGINES.iter().any(|it| it.name == engine && it.runs(language)) {
        true => Ok(()),
        false if has_choice(language) => Err(EngineMismatch::OtherLanguage { engine, language }),
        false => Err(EngineMismatch::NoChoice),
    }
}

/// The engine that a program requests, or the only one that runs its language; `Auto` if there is a
/// choice.
#[must_use]
pub fn choice_of(program: &Program) -> EngineChoice {
    let mut engines = ENGINES.iter().filter(|it| it.runs(program.language));
    match (program.engine, engines.next(), engines.next()) {
        (Some(choice @ EngineChoice::Only(_)), ..) => choice,
        (_, Some(only), None) => EngineChoice::Only(only.name),
        _ => EngineChoice::Auto,
    }
}

fn has_choice(language: Language) -> bool {
    ENGINES.iter().filter(|it| it.runs(language)).count() > 1
}

/// The names of the languages for which `holds` is true, as part of a sentence.
fn titles(holds: impl Fn(Language) -> bool) -> String {
    let languages = Language::NAMES.iter().filter(|(_, language)| holds(*language));
    languages.map(|(_, language)| language.title()).collect::<Vec<_>>().join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_and_every_choice_has_an_engine() {
        for (_, language) in Language::NAMES {
            assert!(ENGINES.iter().any(|it| it.runs(language)), "{language:?}");
        }
        for (name, choice) in EngineChoice::NAMES {
            let is_registered = ENGINES.iter().any(|it| it.name.name() == name);
            assert!(is_registered || choice == EngineChoice::Auto, "{name}");
        }
    }

    #[test]
    fn an_engine_runs_its_own_languages_only() {
        let only = |engine| Some(EngineChoice::Only(engine));
        for engine in [None, Some(EngineChoice::Auto)] {
            assert_eq!(check_choice(Language::Python, engine), Ok(()));
            assert_eq!(check_choice(Language::TypeScript, engine), Ok(()));
        }
        assert_eq!(check_choice(Language::Python, only(EngineName::CPython)), Ok(()));
        assert_eq!(check_choice(Language::TypeScript, only(EngineName::TypeScript)), Ok(()));
        let refused = |language, engine| check_choice(language, only(engine)).unwrap_err();
        assert_eq!(
            refused(Language::TypeScript, EngineName::CPython).to_string(),
            "an engine can be chosen for Python only; leave it out"
        );
        assert_eq!(
            refused(Language::Python, EngineName::TypeScript).to_string(),
            "the engine typescript does not run Python"
        );
    }

    #[test]
    fn a_language_with_one_engine_leaves_no_choice() {
        let in_language =
            |language, engine| choice_of(&Program { language, engine, ..Program::new("") });
        let typescript = EngineChoice::Only(EngineName::TypeScript);
        for engine in [None, Some(EngineChoice::Auto), Some(typescript)] {
            assert_eq!(in_language(Language::TypeScript, engine), typescript);
        }
        assert_eq!(in_language(Language::Python, None), EngineChoice::Auto);
        let cpython = EngineChoice::Only(EngineName::CPython);
        assert_eq!(in_language(Language::Python, Some(cpython)), cpython);
    }
}
