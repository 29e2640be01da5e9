//! `onecall completions`, `onecall man` and `onecall licences`: the command line for shells and for
//! `man`, and whose work is in the binary.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::commands::note;
use crate::terminal::print;

/// Written by `cargo xtask licences`.
const THIRD_PARTY: &str = include_str!("../../../../THIRD-PARTY.txt");

/// These complete the names of servers and tools, on top of the generated script of each shell.
const NAMES_IN_BASH: &str = include_str!("completion.bash");
const NAMES_IN_ZSH: &str = include_str!("completion.zsh");
const NAMES_IN_FISH: &str = include_str!("completion.fish");

/// The generated function of zsh, which ours takes the place of and calls.
const GENERATED_IN_ZSH: &str = "_onecall() {";

/// Prints the licences and notices of everything that is in this binary.
pub(crate) fn licences() -> anyhow::Result<ExitCode> {
    print(THIRD_PARTY)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what `shell` reads to complete our commands.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut visible(Cli::command()), "onecall", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    print(&match shell {
        Shell::Bash => script + NAMES_IN_BASH,
        Shell::Fish => script + NAMES_IN_FISH,
        Shell::Zsh => {
            script.replacen(GENERATED_IN_ZSH, &format!("{NAMES_IN_ZSH}_onecall_options() {{"), 1)
        }
        _ => script,
    })?;
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
    note(&format!("onecall: man pages are in {}", folder.display()));
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
