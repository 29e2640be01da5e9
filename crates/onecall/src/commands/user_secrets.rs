//! `onecall secrets` with `--user`: secrets of the users of a gateway, which are encrypted in the store.
//! Their values are never shown.

use std::collections::HashMap;

use anyhow::{Context, bail};
use onecall_config::{Config, Secret, Secrets};
use onecall_core::UserName;
use onecall_core::storage::UserSecretKind;
use onecall_core::text::shell_word;
use onecall_login::{Rotation, SecretEntry, UnreadableSecrets, login_name};
use serde_json::{Value, json};

use crate::cli::Global;
use crate::commands::note;
use crate::table::table;
use crate::{store, terminal, user_vault};

/// Which users to list.
#[derive(Debug)]
pub(crate) enum ListedUsers {
    One(UserName),
    All,
}

/// Reads the name of a user. The name `local` is the person who runs onecall.
pub(crate) fn parse_user(text: &str) -> Result<UserName, onecall_core::InvalidUserName> {
    if text == UserName::local().as_str() { Ok(UserName::local()) } else { UserName::parse(text) }
}

/// Stores a secret of a user. `value` asks for it.
pub(crate) fn set(
    user: &UserName,
    name: &str,
    value: impl FnOnce() -> anyhow::Result<Secret>,
    global: &Global,
) -> anyhow::Result<()> {
    let config = config(global)?;
    let unknown = unknown_user(user, &config)?;
    let value = value()?;
    // The rules for names and values are those of the other secrets.
    Secrets::default().set(name, value.reveal())?;
    let vault = user_vault::open(&config)?;
    let done = match vault.set_secret(user, name, &value)? {
        true => "Replaced",
        false => "Stored",
    };
    note(&format!(
        "{done} {name} of user {user}, encrypted; configurations refer to it as ${{user:{name}}} in env and \
         headers"
    ));
    let is_used = |server: &onecall_config::ServerConfig| server.user_secret_names().contains(name);
    if !config.servers.iter().any(is_used) {
        note(&format!("Note: no server of this configuration refers to ${{user:{name}}}"));
    }
    if let Some(unknown) = unknown {
        note(&unknown);
    }
    Ok(())
}

/// A note if there is no such user yet, but may be one later.
///
/// # Errors
/// If nobody can ever log in with this name.
fn unknown_user(user: &UserName, config: &Config) -> anyhow::Result<Option<String>> {
    let Some(users) = config.users.as_ref().filter(|_| !user.is_local()) else { return Ok(None) };
    let known = store::open(config)?.user(user)?;
    if known.is_some_and(|known| known.removed.is_none()) {
        return Ok(None);
    }
    let add = format!("`onecall users add {}` adds the user", shell_word(user.as_str()));
    match users.oidc {
        Some(_) => Ok(Some(format!(
            "Note: user {user} is not known yet; the first login through the identity provider makes the \
             user known. Check the name: it has to be equal to the letter"
        ))),
        None => bail!("there is no user '{user}', and nothing was stored; {add}"),
    }
}

/// Lists the names of secrets, and logins to servers.
pub(crate) fn list(users: &ListedUsers, is_json: bool, global: &Global) -> anyhow::Result<()> {
    let config = config(global)?;
    let user = match users {
        ListedUsers::One(user) => Some(user),
        ListedUsers::All => None,
    };
    let entries = match user_vault::open_existing(&config) {
        Some(vault) => vault.entries(user)?,
        None => Vec::new(),
    };
    let servers = servers_by_login(&config);
    if is_json {
        let of_kind = |kind, value: &dyn Fn(&SecretEntry) -> Value| -> Vec<Value> {
            entries.iter().filter(|entry| entry.key.kind == kind).map(value).collect()
        };
        let secrets = of_kind(UserSecretKind::Secret, &|entry| {
            json!({
                "user": entry.key.user.as_str(),
                "name": entry.key.name,
                "changed": entry.changed.to_string(),
                "readable": entry.is_readable,
            })
        });
        let logins = of_kind(UserSecretKind::Login, &|entry| {
            json!({
                "user": entry.key.user.as_str(),
                "server": servers.get(&entry.key.name),
                "changed": entry.changed.to_string(),
                "readable": entry.is_readable,
            })
        });
        let listed = json!({ "secrets": secrets, "logins": logins });
        return Ok(terminal::print(&format!("{}\n", serde_json::to_string_pretty(&listed)?))?);
    }
    if entries.is_empty() {
        let user = user.map_or("USER".into(), |user| shell_word(user.as_str()));
        note(&format!("There are no secrets; `onecall secrets set NAME --user {user}` stores one"));
        return Ok(());
    }
    let mut rows = vec![["USER", "SECRET", "CHANGED", "STATE"].map(str::to_owned)];
    rows.extend(entries.iter().map(|entry| {
        let name = match entry.key.kind {
            UserSecretKind::Secret => entry.key.name.clone(),
            UserSecretKind::Login => match servers.get(&entry.key.name) {
                Some(server) => format!("(login to {server})"),
                None => "(login to a server that is not configured)".to_owned(),
            },
        };
        let state = if entry.is_readable { "available" } else { "its key is missing" };
        let user = terminal::neutralise(entry.key.user.as_str());
        [user, terminal::neutralise(&name), entry.changed.day(), state.to_owned()]
    }));
    Ok(terminal::print(&table(&rows))?)
}

/// Removes secrets of a user.
pub(crate) fn remove(user: &UserName, names: &[String], global: &Global) -> anyhow::Result<()> {
    let mut known = Secrets::default();
    names.iter().try_for_each(|name| known.set(name, "-"))?;
    let Some(vault) = user_vault::open_existing(&config(global)?) else {
        bail!("there are no secrets of user '{user}'; nothing was changed");
    };
    vault.remove_secrets(user, names)?;
    note(&format!("Removed {} of user {user}", names.join(", ")));
    Ok(())
}

/// Replaces the key that secrets are encrypted with.
pub(crate) fn rotate(
    unreadable: UnreadableSecrets,
    is_json: bool,
    global: &Global,
) -> anyhow::Result<()> {
    let vault = user_vault::open(&config(global)?)?;
    let rotation = vault.rotate(unreadable).context("the key was not replaced")?;
    let Rotation { key_id, reencrypted, removed, unneeded_file } = &rotation;
    if is_json {
        let removed: Vec<Value> = removed
            .iter()
            .map(|key| json!({ "user": key.user.as_str(), "kind": key.kind.name(), "name": key.name }))
            .collect();
        let done = json!({ "key": key_id, "reencrypted": reencrypted, "removed": removed });
        return Ok(terminal::print(&format!("{}\n", serde_json::to_string_pretty(&done)?))?);
    }
    let what = match reencrypted {
        1 => "1 secret or login is".to_owned(),
        count => format!("{count} secrets and logins are"),
    };
    note(&format!("Replaced the key: {what} encrypted with the key {key_id} now"));
    for key in removed {
        note(&format!("Removed the {} {} of user {}", key.kind.name(), key.name, key.user));
    }
    if let Some(file) = unneeded_file {
        note(&format!(
            "The key file {} is not needed any more; delete it when no onecall runs without the key in \
             the environment",
            file.display()
        ));
    }
    Ok(())
}

/// The names of the configured servers by the names of their logins.
fn servers_by_login(config: &Config) -> HashMap<String, String> {
    let named = |server: &onecall_config::ServerConfig| {
        Some((login_name(server)?, server.name.to_string()))
    };
    config.servers.iter().filter_map(named).collect()
}

fn config(global: &Global) -> anyhow::Result<Config> {
    Ok(global.loaded()?.config.clone())
}
