//! `onecall secrets`: manages the values for references in configurations. Values are read from a
//! terminal or from stdin, never from arguments, and are never shown.

use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;
use dialoguer::console::Term;
use onecall_config::{MAX_SECRET_BYTES, ProcessContext, Secret, Secrets, SecretsFile};
use onecall_core::UserName;
use onecall_login::UnreadableSecrets;
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::note;
use crate::commands::user_secrets::{self, ListedUsers, parse_user};
use crate::table::table;
use crate::terminal;

/// What `onecall secrets` takes.
#[derive(Debug, Subcommand)]
pub(crate) enum SecretsCommand {
    /// Store a secret, or replace its value
    #[command(after_help = "\
Asks for the value without showing it. If stdin is not a terminal, reads the value from stdin,
without a newline at its end. The value cannot be an argument, because other users and the shell's
history would see it.

With --user, the secret is encrypted in the store, and servers that are started for this user get it
where their entry refers to it as ${user:NAME}, in env or headers.

Examples:
  onecall secrets set GITHUB_TOKEN
  onecall secrets set GITHUB_TOKEN < token.txt
  onecall secrets set JIRA_TOKEN --user anna")]
    Set {
        /// The name that configurations refer to, as in ${NAME}
        name: String,
        /// Store it for this user of a gateway, as ${user:NAME}
        #[arg(long, value_name = "USER", value_parser = parse_user)]
        user: Option<UserName>,
        /// A value given as an argument, which is refused
        #[arg(hide = true, num_args = 0..)]
        misplaced: Vec<String>,
    },
    /// List the names of secrets, and which of them the environment overrides
    #[command(after_help = "\
Examples:
  onecall secrets list --json | jq -r '.secrets[].name'
  onecall secrets list --user anna
  onecall secrets list --all-users")]
    List {
        /// List the secrets of this user of a gateway, and the user's logins
        #[arg(long, value_name = "USER", value_parser = parse_user, conflicts_with = "all_users")]
        user: Option<UserName>,
        /// List the secrets and logins of all users of a gateway
        #[arg(long)]
        all_users: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove secrets
    #[command(after_help = "\
Examples:
  onecall secrets remove GITHUB_TOKEN
  onecall secrets remove JIRA_TOKEN --user anna")]
    Remove {
        /// Remove secrets of this user of a gateway
        #[arg(long, value_name = "USER", value_parser = parse_user)]
        user: Option<UserName>,
        /// The names of the secrets
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Replace the key that secrets and logins of users are encrypted with
    #[command(after_help = "\
The key is in the file user-secrets.key of your state directory, and a new one takes its place.
If ONECALL_SECRETS_KEY has keys, separated by commas, everything is encrypted with the first of
them: put the new key before the old one, run this, and take the old one away. A gateway that
runs goes on.

Examples:
  onecall secrets rotate
  ONECALL_SECRETS_KEY=\"$(openssl rand -base64 32),$OLD_KEY\" onecall secrets rotate")]
    Rotate {
        /// Remove what cannot be decrypted, because its key is lost
        #[arg(long)]
        remove_unreadable: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// Changes or lists secrets: those of the person who runs this, or of a user of a gateway.
pub(crate) fn secrets(command: SecretsCommand, global: &Global) -> anyhow::Result<ExitCode> {
    match command {
        SecretsCommand::Set { misplaced, .. } if !misplaced.is_empty() => bail!(
            "a secret cannot be an argument, because other users and the shell's history would see it; \
             leave it out to be asked for it, or write it to stdin"
        ),
        SecretsCommand::Set { name, user: Some(user), .. } => {
            // An invalid name is refused before the value is typed.
            Secrets::default().set(&name, "-")?;
            user_secrets::set(&user, &name, || value(&name), global)?;
        }
        SecretsCommand::Set { name, .. } => set(&file()?, &name)?,
        SecretsCommand::List { user: Some(user), json, .. } => {
            user_secrets::list(&ListedUsers::One(user), json, global)?;
        }
        SecretsCommand::List { all_users: true, json, .. } => {
            user_secrets::list(&ListedUsers::All, json, global)?;
        }
        SecretsCommand::List { json, .. } => list(&file()?.read()?, json)?,
        SecretsCommand::Remove { user: Some(user), names } => {
            user_secrets::remove(&user, &names, global)?;
        }
        SecretsCommand::Rotate { remove_unreadable, json } => {
            let unreadable = match remove_unreadable {
                true => UnreadableSecrets::Remove,
                false => UnreadableSecrets::Fail,
            };
            user_secrets::rotate(unreadable, json, global)?;
        }
        SecretsCommand::Remove { names, .. } => {
            file()?.change(|secrets| names.iter().try_for_each(|name| secrets.remove(name)))?;
            note(&format!("Removed {}", names.join(", ")));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of the user's secrets.
pub(crate) fn file() -> anyhow::Result<SecretsFile> {
    let file = ProcessContext::current().directories.secrets();
    file.context("onecall cannot find your state directory, where secrets are stored: set HOME or XDG_STATE_HOME")
}

/// Whether an environment variable of this name overrides the secret.
fn is_overridden(name: &str) -> bool {
    std::env::var(name).is_ok()
}

fn set(file: &SecretsFile, name: &str) -> anyhow::Result<()> {
    // An invalid name is refused before the value is typed.
    Secrets::default().set(name, "-")?;
    let value = value(name)?;
    let before = file.change(|secrets| {
        let before = secrets.get(name).cloned();
        secrets.set(name, value.reveal())?;
        Ok(before)
    })?;
    let done = if before.is_some() { "Replaced" } else { "Stored" };
    note(&format!(
        "{done} {name} in {}; configurations refer to it as ${{{name}}}",
        file.path().display()
    ));
    if is_overridden(name) {
        note(&format!(
            "Note: the environment variable {name} is set here, and is used instead of the secret"
        ));
    }
    Ok(())
}

/// The value of a secret, from the terminal or from stdin.
fn value(name: &str) -> anyhow::Result<Secret> {
    match io::stdin().is_terminal() {
        true => prompt_for_value(name),
        false => read_piped_value(),
    }
}

/// Asks for the value without showing it.
fn prompt_for_value(name: &str) -> anyhow::Result<Secret> {
    let terminal = Term::stderr();
    terminal
        .write_str(&format!("Value of {name} (not shown): "))
        .context("cannot ask for the value")?;
    let value = terminal.read_secure_line().context("cannot read the value")?;
    Ok(Secret::new(value))
}

/// Reads the value from stdin, without a newline at its end.
fn read_piped_value() -> anyhow::Result<Secret> {
    let mut bytes = Vec::new();
    // Enough to detect that a value is too long.
    let limit = u64::try_from(MAX_SECRET_BYTES).unwrap_or(u64::MAX).saturating_add(3);
    io::stdin().lock().take(limit).read_to_end(&mut bytes).context("cannot read the value")?;
    let Ok(mut text) = String::from_utf8(bytes) else {
        bail!("the value is not valid UTF-8; nothing was changed");
    };
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(Secret::new(text))
}

fn list(secrets: &Secrets, is_json: bool) -> anyhow::Result<()> {
    if is_json {
        let described = |name: &str| json!({ "name": name, "overridden": is_overridden(name) });
        let listed: Vec<Value> = secrets.names().map(described).collect();
        let listed = serde_json::to_string_pretty(&json!({ "secrets": listed }))?;
        terminal::print(&format!("{listed}\n"))?;
        return Ok(());
    }
    let mut rows = vec![["SECRET", "STATE"].map(str::to_owned)];
    rows.extend(secrets.names().map(|name| {
        let state = match is_overridden(name) {
            true => "overridden by the environment",
            false => "available",
        };
        [name, state].map(str::to_owned)
    }));
    match rows.len() {
        1 => note("There are no secrets; `onecall secrets set NAME` stores one"),
        _ => terminal::print(&table(&rows))?,
    }
    Ok(())
}
