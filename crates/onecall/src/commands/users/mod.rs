//! `onecall users`: the people who may use a gateway over HTTP, and their personal tokens.

mod list;
mod tokens;

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use clap::Subcommand;
use onecall_core::storage::{DurableStore, UserAddition, UserRemoval, Users};
use onecall_core::text::visible_json;
use onecall_core::{MAX_GROUPS, Timestamp, UserName, check_group_name};
use onecall_gateway::MAX_TOKEN_LIFETIME;
use onecall_login::UserVault;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::cancel::cancel_runs_of;
use crate::commands::{note, say};
use crate::terminal::{print, print_styled};
use crate::time_span::parse_time_span;
use crate::{setup, store, user_vault};

/// What `onecall users` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum UsersCommand {
    /// Add a user, or set the groups of one, or let a removed one in again
    #[command(after_help = "\
A user of the identity provider need not be added: the first login does it. Groups that are given
here count in addition to those in the provider's tokens. Adding a user again replaces the groups.
Names that differ only in case or Unicode form cannot belong to two users.

Examples:
  onecall users add anna
  onecall users add ben@example.com --group dev --group admin

Exit codes: 0 the user may log in, 1 another user has a similar name, 2 the command line or the
store cannot be used")]
    Add {
        /// The name of the user, as the identity provider writes it if there is one
        name: String,
        /// A group of the user; may be repeated
        #[arg(long, value_name = "GROUP")]
        group: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the users
    #[command(after_help = "\
Examples:
  onecall users list
  onecall users list --json | jq -r '.[] | select(.removed == null) | .name'")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a user and delete the user's tokens
    #[command(after_help = "\
A running gateway refuses the user within a second, also with a valid token of the identity
provider, and ends the user's requests and runs. The tokens, secrets and logins of the user are
deleted. `onecall users add` lets the user in again.

Example:
  onecall users remove anna

Exit codes: 0 the user is removed, 1 there is no such user, 2 the store cannot be used")]
    Remove {
        /// The name of the user
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a personal token for a user, and print it
    #[command(after_help = "\
The token is shown once: onecall keeps only its digest. The user sends it in the header
`Authorization: Bearer TOKEN`.

Examples:
  onecall users token anna
  onecall users token anna --expires 30d --label laptop

Exit codes: 0 the token can be used, 1 there is no such user or the user has too many tokens, 2 the
command line or the store cannot be used")]
    Token {
        /// The name of the user
        name: String,
        /// How long the token can be used, at most 366d
        #[arg(long, value_name = "TIME", default_value = "90d", value_parser = lifetime)]
        expires: Duration,
        /// What the token is for
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the tokens of a user, or of all users; the tokens themselves are not known any more
    #[command(after_help = "\
Examples:
  onecall users tokens anna
  onecall users tokens --json | jq -r '.[] | .id + \" \" + .user'

Exit codes: 0 the tokens are listed, 1 there is no such user, 2 the store cannot be used")]
    Tokens {
        /// The name of the user
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Delete a token; a running gateway refuses it within a second
    #[command(after_help = "\
The ids are those that `onecall users tokens` lists.

Example:
  onecall users revoke 5b2ea90c17

Exit codes: 0 the token is deleted, 1 there is no such token, 2 the store cannot be used")]
    Revoke {
        /// The id of the token
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Lists and changes users and their tokens.
pub(crate) fn users(command: UsersCommand, global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    if config.users.is_none() {
        note("Note: the configuration has no `users`, so `onecall serve --http` does not use them");
    }
    let store = store::open(&config)?;
    let store = store.as_ref();
    match command {
        UsersCommand::Add { name, group, json } => add(store, &name, group, json),
        UsersCommand::List { json } => list::list(store, json),
        UsersCommand::Remove { name, json } => {
            let (runs, vault) = (store::open(&config)?, user_vault::open_existing(&config));
            remove(store, runs.as_ref(), vault.as_deref(), &name, json)
        }
        UsersCommand::Token { name, expires, label, json } => {
            tokens::make(store, &name, expires, &label, json)
        }
        UsersCommand::Tokens { name, json } => tokens::list(store, name.as_deref(), json),
        UsersCommand::Revoke { id, json } => tokens::revoke(store, &id, json),
    }
}

/// Prints the names of the users who may log in, one per line.
pub(crate) fn names(global: &Global) -> anyhow::Result<ExitCode> {
    let config = setup::load(global)?.config;
    if let Some(store) = store::open_existing(&config) {
        let users = store.users()?;
        let active = users.iter().filter(|user| user.removed.is_none());
        print(&active.map(|user| format!("{}\n", user.name)).collect::<String>())?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = parse_time_span(text)?;
    match lifetime {
        Duration::ZERO => Err("a token that ends at once cannot be used".to_owned()),
        lifetime if lifetime > MAX_TOKEN_LIFETIME => {
            Err("a token can be used for at most 366d".to_owned())
        }
        lifetime => Ok(lifetime),
    }
}

fn add(
    store: &dyn Users,
    name: &str,
    groups: Vec<String>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let name = UserName::parse(name)?;
    for group in &groups {
        check_group_name(group).with_context(|| format!("the group '{group}' cannot be used"))?;
    }
    let groups: BTreeSet<String> = groups.into_iter().collect();
    ensure!(groups.len() <= MAX_GROUPS, "a user has at most {MAX_GROUPS} groups");
    let added = store.add_user(&name, &groups, Timestamp::now())?;
    let what = match &added {
        UserAddition::SimilarName(other) => {
            return failed(
                as_json,
                &json!({ "name": name.as_str(), "added": false, "similar": other.as_str() }),
                &format!(
                    "the user '{other}' has a name that differs from '{name}' only in case or \
                     Unicode form; use '{other}', or choose another name"
                ),
            );
        }
        UserAddition::Added => format!("Added {name}"),
        UserAddition::Updated => format!("Changed {name}"),
        UserAddition::Restored => format!("{name} may log in again"),
    };
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let shown = match groups.as_slice() {
        [] => "without groups".to_owned(),
        groups => format!("with the groups {}", groups.join(", ")),
    };
    done(
        as_json,
        &json!({ "name": name.as_str(), "added": true, "groups": groups }),
        &format!("{what}, {shown}; `onecall users token` makes a token"),
    )
}

fn remove(
    store: &dyn Users,
    runs: &dyn DurableStore,
    vault: Option<&UserVault>,
    name: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let name = UserName::parse(name)?;
    let removal = store.remove_user(&name, Timestamp::now())?;
    // Runs that wait for a person would go on after the answer.
    cancel_runs_of(runs, &name)?;
    if let Some(vault) = vault {
        vault.remove_user(&name)?;
    }
    match removal {
        UserRemoval::Removed { tokens } => {
            let shown = match tokens {
                0 => String::new(),
                1 => " and 1 token".to_owned(),
                tokens => format!(" and {tokens} tokens"),
            };
            let json = json!({ "name": name.as_str(), "removed": true, "tokens": tokens });
            done(as_json, &json, &format!("Removed {name}{shown}"))
        }
        UserRemoval::AlreadyRemoved => {
            let json = json!({ "name": name.as_str(), "removed": true, "tokens": 0 });
            done(as_json, &json, &format!("{name} had been removed before"))
        }
        UserRemoval::Unknown => {
            let json = json!({ "name": name.as_str(), "removed": false });
            failed(as_json, &json, &unknown_user(&name))
        }
    }
}

fn unknown_user(name: &UserName) -> String {
    format!("there is no user '{name}'; `onecall users list` shows all users")
}

/// Reports what was done.
fn done(as_json: bool, json: &Value, message: &str) -> anyhow::Result<ExitCode> {
    match as_json {
        true => print_json(json)?,
        false => note(message),
    }
    Ok(ExitCode::SUCCESS)
}

/// Reports that nothing was done, and why.
fn failed(as_json: bool, json: &Value, message: &str) -> anyhow::Result<ExitCode> {
    if as_json {
        print_json(json)?;
    }
    say(&format!("error: {message}"));
    Ok(ExitCode::FAILURE)
}

fn print_json(json: &Value) -> anyhow::Result<()> {
    print_styled(&format!("{}\n", visible_json(&format!("{json:#}"))))?;
    Ok(())
}
