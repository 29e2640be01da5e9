//! Prepares the command line before it is parsed, so that `onecall add NAME COMMAND ARGUMENTS…`
//! works without `--` before the command.

use std::ffi::OsString;

use clap::{Command, CommandFactory};

use crate::cli::Cli;

/// The command line of this process, with `--` before the command of `add`.
pub(crate) fn of_process() -> Vec<OsString> {
    with_separator(std::env::args_os().collect())
}

fn with_separator(mut words: Vec<OsString>) -> Vec<OsString> {
    // Most command lines need no further inspection.
    if words.iter().any(|word| word == "add")
        && let Some(at) = command_of_server(&words)
    {
        words.insert(at, OsString::from("--"));
    }
    words
}

/// The position where the command of a local server begins, if there is no separator yet.
fn command_of_server(words: &[OsString]) -> Option<usize> {
    let cli = Cli::command();
    let add = cli.find_subcommand("add")?;
    let known = [&cli, add];
    let subcommand = next_value(words, 1, &known)?;
    let name = next_value(words, subcommand + 1, &known)?;
    let command = next_value(words, name + 1, &known)?;
    let is_address = |word: &str| word.contains("://") || word.contains("${");
    let is_command =
        words.get(subcommand)? == "add" && !words.get(command)?.to_str().is_some_and(is_address);
    is_command.then_some(command)
}

/// The next word that is neither an option nor the value of one; `None` from `--` on.
fn next_value(words: &[OsString], mut at: usize, known: &[&Command]) -> Option<usize> {
    loop {
        let word = words.get(at)?.to_string_lossy();
        if word == "--" {
            return None;
        }
        if !word.starts_with('-') || word == "-" {
            return Some(at);
        }
        at += if takes_next_word(&word, known) { 2 } else { 1 };
    }
}

fn takes_next_word(option: &str, known: &[&Command]) -> bool {
    let mut arguments = known.iter().flat_map(|command| command.get_arguments());
    arguments.any(|argument| {
        let is_long =
            option.strip_prefix("--").is_some_and(|long| argument.get_long() == Some(long));
        let is_short = option.strip_prefix('-').is_some_and(|short| {
            argument.get_short().is_some_and(|known| short == known.to_string())
        });
        (is_long || is_short) && argument.get_action().takes_values()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let words = line.split(' ').map(OsString::from).collect();
        let words: Vec<_> =
            with_separator(words).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words.join(" "), expected);
    }

    #[test]
    fn the_command_of_a_server_is_set_apart() {
        check("onecall add time uvx server --verbose", "onecall add time -- uvx server --verbose");
        check(
            "onecall -c a.yaml add --env A=b --force time --cwd=/x npx -y p -- q",
            "onecall -c a.yaml add --env A=b --force time --cwd=/x -- npx -y p -- q",
        );
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        for line in [
            "onecall add time -- uvx server",
            "onecall add tracker https://x.example/mcp --transport sse",
            "onecall add tracker ${URL} --no-check",
            "onecall add",
            "onecall add time",
            "onecall add --env",
            "onecall run add a b",
            "onecall --log info call add a=1 b=2",
        ] {
            check(line, line);
        }
    }
}
