//! The languages of programs, and the names of the engines that run them.

use serde::{Deserialize, Serialize};

/// The language that a program is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// Python.
    #[default]
    Python,
    /// TypeScript, and so JavaScript.
    TypeScript,
}

impl Language {
    /// Every language with its name in arguments, configurations and records.
    pub const NAMES: [(&str, Self); 2] =
        [(Self::Python.name(), Self::Python), (Self::TypeScript.name(), Self::TypeScript)];

    /// The language with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, language)| *language)
    }

    /// The name of the language in arguments, configurations and records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::TypeScript => "typescript",
        }
    }

    /// The name of the language as it is written in a sentence.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
        }
    }
}

/// An engine: an interpreter that runs programs. The registry of `onecall-engine` says which
/// languages an engine runs and what it offers to programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineName {
    /// The embedded Python interpreter.
    Python,
    /// The Python of the system, with its installed packages.
    CPython,
    /// The embedded interpreter for TypeScript and JavaScript.
    TypeScript,
}

impl EngineName {
    /// Every engine.
    pub const ALL: [Self; 3] = [Self::Python, Self::CPython, Self::TypeScript];

    /// The name of the engine in arguments, configurations, records and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::CPython => "cpython",
            Self::TypeScript => "typescript",
        }
    }

    /// The engine with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }
}

/// The engine that a run was begun on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEngine {
    /// The engine.
    pub name: EngineName,
    /// The version of its interpreter; `None` if the interpreter is a part of onecall.
    pub version: Option<String>,
}

/// Selects one of the engines that can run a program's language.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// The first engine of the language, unless the program imports a module that only another one
    /// has.
    #[default]
    Auto,
    /// Always this engine.
    Only(EngineName),
}

impl EngineChoice {
    /// Every choice that arguments and configurations can make. There is a choice only where
    /// several engines run a language.
    pub const NAMES: [(&str, Self); 3] = [
        (Self::Auto.name(), Self::Auto),
        (EngineName::Python.name(), Self::Only(EngineName::Python)),
        (EngineName::CPython.name(), Self::Only(EngineName::CPython)),
    ];

    /// The choice with this name in arguments and configurations, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice)
    }

    /// The name of the engine, or `auto`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Only(engine) => engine.name(),
        }
    }
}
