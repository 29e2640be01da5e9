//! The kinds of messages, which are the chapters of the file.

/// The construct or the part of the product that shows a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Help,
    Prompt,
    Terminal,
    Doctor,
    Error,
    Log,
    Key,
    Tool,
    Answer,
    Program,
    Client,
}

impl Kind {
    /// All kinds, in the order of the file.
    pub(super) const ALL: [Self; 11] = [
        Self::Help,
        Self::Prompt,
        Self::Terminal,
        Self::Doctor,
        Self::Error,
        Self::Log,
        Self::Key,
        Self::Tool,
        Self::Answer,
        Self::Program,
        Self::Client,
    ];

    /// The title of the kind's chapter.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Help => "The help of the commands",
            Self::Prompt => "Questions to the user",
            Self::Terminal => "The output of the commands",
            Self::Doctor => "The findings of onecall doctor",
            Self::Error => "Errors",
            Self::Log => "Log lines",
            Self::Key => "Descriptions of the configuration keys",
            Self::Tool => "Definitions of onecall's own tools",
            Self::Answer => "Answers, hints and reasons",
            Self::Program => "Python and JavaScript inside the engines",
            Self::Client => "The Python client",
        }
    }

    /// The kind of the messages in a file that no construct gives another kind.
    pub(super) fn of_file(file: &str) -> Self {
        let folders = [
            ("clients/python/", Self::Client),
            ("crates/onecall-config/src/schema/", Self::Key),
            ("crates/onecall-server/src/definitions.rs", Self::Tool),
            ("crates/onecall/src/commands/doctor/", Self::Doctor),
        ];
        if let Some((_, kind)) = folders.into_iter().find(|(folder, _)| file.starts_with(folder)) {
            return kind;
        }
        match file {
            _ if !file.ends_with(".rs") => Self::Program,
            _ if file.starts_with("crates/onecall/") => Self::Terminal,
            _ => Self::Answer,
        }
    }

    /// The kind of the messages in the arguments of a function or method of this name.
    pub(super) fn of_call(name: &str) -> Option<Self> {
        match name {
            "Err" | "map_err" | "ok_or" | "ok_or_else" | "context" | "with_context" => {
                Some(Self::Error)
            }
            "with_prompt" | "agrees" | "agrees_by_default" => Some(Self::Prompt),
            _ => None,
        }
    }

    /// The kind of the messages in the arguments of a macro of this name.
    pub(super) fn of_macro(name: &str) -> Option<Self> {
        match name {
            "bail" | "anyhow" | "ensure" => Some(Self::Error),
            "error" | "warn" | "info" | "debug" | "trace" => Some(Self::Log),
            _ => None,
        }
    }
}
