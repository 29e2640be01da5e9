//! `onecall config`: shows which configuration is used, and makes changes that are validated before
//! they are written.

mod edit;
mod keys;

use std::process::ExitCode;

use clap::Subcommand;
use onecall_config::{ConfigOrigin, FoundConfigFile, ProcessContext, locate};

use crate::cli::Global;
use crate::commands::editable_config::EditableConfig;
use crate::commands::note;
use crate::terminal::print;

/// What can be done with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the path of the configuration that onecall reads, and why it reads this one
    #[command(after_help = "\
If there is none yet, this prints the path of the file that `onecall init` and `onecall add` make.

Example:
  onecall config path

Exit codes: 0 there is a configuration, 1 there is none, 2 it cannot be read")]
    Path,
    /// Open the configuration in $VISUAL or $EDITOR, and check it afterwards
    #[command(after_help = "\
You edit a copy, which replaces the configuration if it is valid. On a terminal you can go on
editing if it is not.

Example:
  EDITOR='code --wait' onecall config edit

Exit codes: 0 saved or unchanged, 2 not valid, or the editor failed")]
    Edit,
    /// Print one value of the configuration, as it is written in the file
    #[command(after_help = "\
Separate nested keys with dots. Lists and mappings are printed as JSON.

Examples:
  onecall config get engine
  onecall config get execution.timeout_seconds
  onecall config get servers.time.command

Exit codes: 0 the key is set, 1 it is not set, 2 an error occurred")]
    Get {
        /// The key, as in execution.timeout_seconds
        key: String,
    },
    /// Set one value of the configuration
    #[command(after_help = "\
Changes the file in place and keeps comments. Writes nothing if the result would not be valid.
`onecall schema --markdown` lists every key.

Examples:
  onecall config set engine auto
  onecall config set execution.timeout_seconds 300
  onecall config set servers.time.lazy true

Exit codes: 0 the value is set, 2 nothing was changed")]
    Set {
        /// The key, as in execution.timeout_seconds
        key: String,
        /// The value: text, a number, true or false, or a list or mapping as JSON
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
}

/// Runs a subcommand.
pub(crate) fn config(command: &ConfigCommand, global: &Global) -> anyhow::Result<ExitCode> {
    match command {
        ConfigCommand::Path => path(global),
        ConfigCommand::Edit => edit::edit(&EditableConfig::find(global)?),
        ConfigCommand::Get { key } => keys::get(key, &EditableConfig::current(global)?),
        ConfigCommand::Set { key, value } => keys::set(key, value, &EditableConfig::find(global)?),
    }
}

fn path(global: &Global) -> anyhow::Result<ExitCode> {
    let located = locate(global.config.as_deref(), &ProcessContext::current())?;
    located.warnings.iter().for_each(|warning| note(&format!("warning: {warning}")));
    match located.found {
        Some(found) => {
            print(&format!("{}\n", found.path.display()))?;
            note(&format!("It is read because {}.", reason(&found)));
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let own = EditableConfig::current(global)?;
            print(&format!("{}\n", own.path().display()))?;
            note("There is no configuration yet; `onecall init` or `onecall add` makes this file.");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn reason(found: &FoundConfigFile) -> String {
    match found.origin {
        ConfigOrigin::Named(by) if by.starts_with('-') => format!("{by} names it"),
        ConfigOrigin::Named(variable) => format!("${} names it", variable.trim_start_matches('$')),
        ConfigOrigin::WorkingDirectory => {
            "it is in the working directory, and you have trusted it".to_owned()
        }
        ConfigOrigin::User => "it is the one in your configuration directory".to_owned(),
    }
}
