//! `onecall completions` and `onecall man`: the command line, told to shells and to `man`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::commands::say;
use crate::terminal::print;

/// Prints what `shell` reads to complete our commands.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(Cli::command()), "onecall", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a page for each command into a folder, or prints the first one.
pub(crate) fn man(folder: Option<&Path>) -> anyhow::Result<ExitCode> {
    let command = visible(Cli::command());
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        print(&String::from_utf8_lossy(&page))?;
        return Ok(ExitCode::SUCCESS);
    };
    let place = || format!("cannot write man pages into '{}'", folder.display());
    std::fs::create_dir_all(folder).with_context(place)?;
    clap_mangen::generate_to(command, folder).with_context(place)?;
    say(&format!("onecall: man pages are in {}", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// The command line without what only onecall itself starts.
fn visible(command: Command) -> Command {
    let shown: Vec<Command> =
        command.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let plain = Command::new("onecall")
        .args(command.get_arguments().cloned())
        .about(command.get_about().cloned().unwrap_or_default())
        .version(env!("CARGO_PKG_VERSION"));
    plain.subcommands(shown)
}
