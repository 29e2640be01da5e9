//! Decides whether output has colours: by `--color`, or else by NO_COLOR and the kind of output.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

use clap::{ColorChoice, ValueEnum};
use dialoguer::console::{set_colors_enabled, set_colors_enabled_stderr};

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// The value of `--color` in a command line that is not parsed yet. An invalid value is left to
    /// the parser.
    pub(crate) fn from_words(words: &[OsString]) -> Self {
        let mut words = words.iter().map(|word| word.to_string_lossy()).take_while(|it| it != "--");
        let mut color = Self::default();
        while let Some(word) = words.next() {
            let value = match word.strip_prefix("--color") {
                Some("") => words.next(),
                Some(value) => value.strip_prefix('=').map(|value| value.to_owned().into()),
                None => None,
            };
            color = value.and_then(|value| Self::from_str(&value, false).ok()).unwrap_or(color);
        }
        color
    }

    /// The choice for help and for errors in the command line.
    pub(crate) fn for_help(self) -> ColorChoice {
        match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        }
    }

    /// Applies this choice to everything that this process prints.
    pub(crate) fn apply(self) {
        let Some(is_on) = self.forced() else { return };
        set_colors_enabled(is_on);
        set_colors_enabled_stderr(is_on);
    }

    /// Whether log lines have colours.
    pub(crate) fn is_on_for_stderr(self) -> bool {
        self.forced()
            .unwrap_or_else(|| io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none())
    }

    fn forced(self) -> Option<bool> {
        match self {
            Self::Auto => None,
            Self::Always => Some(true),
            Self::Never => Some(false),
        }
    }
}
