//! `onecall users token`, `tokens` and `revoke`: personal tokens.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, ensure};
use onecall_core::storage::{MAX_TOKENS_PER_USER, StoredToken, TokenAddition, Users};
use onecall_core::text::visible_line;
use onecall_core::{Timestamp, UserName};
use onecall_gateway::PersonalToken;
use serde_json::{Value, json};

use super::{done, failed, print_json, unknown_user};
use crate::commands::note;
use crate::formatting::{Alignment, age, table, terminal_width};
use crate::terminal::{print, print_styled};

/// The longest label, in bytes.
const MAX_LABEL_BYTES: usize = 200;

/// Makes a token and prints it.
pub(super) fn make(
    store: &dyn Users,
    name: &str,
    lifetime: Duration,
    label: &str,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let name = UserName::parse(name)?;
    let is_label = label.len() <= MAX_LABEL_BYTES && visible_line(label) == label;
    ensure!(
        is_label,
        "a label has at most {MAX_LABEL_BYTES} bytes, in one line and without invisible characters"
    );
    let made = PersonalToken::generate(&name, label, lifetime, Timestamp::now());
    let PersonalToken { token, stored } = made.context("cannot make a random token")?;
    let why = match store.add_token(&stored)? {
        TokenAddition::Added => {
            if as_json {
                let mut json = token_json(&stored);
                json["token"] = token.reveal().into();
                print_json(&json)?;
            } else {
                print(&format!("{}\n", token.reveal()))?;
                note(&format!(
                    "This token of {name} can be used until {}. It is not shown again; `onecall \
                     users revoke {}` deletes it",
                    stored.expires.day(),
                    stored.id
                ));
            }
            return Ok(ExitCode::SUCCESS);
        }
        TokenAddition::UnknownUser => {
            format!("there is no user '{name}'; `onecall users add {name}` adds the user")
        }
        TokenAddition::RemovedUser => format!(
            "the user '{name}' was removed; `onecall users add {name}` lets the user in again"
        ),
        TokenAddition::TooMany => format!(
            "the user '{name}' has {MAX_TOKENS_PER_USER} tokens already; `onecall users revoke ID` \
             deletes one"
        ),
    };
    failed(as_json, &json!({ "user": name.as_str(), "token": null }), &why)
}

/// Lists the tokens of a user, or of all users.
pub(super) fn list(
    store: &dyn Users,
    name: Option<&str>,
    as_json: bool,
) -> anyhow::Result<ExitCode> {
    let name = name.map(UserName::parse).transpose()?;
    if let Some(name) = &name
        && store.user(name)?.is_none()
    {
        return failed(as_json, &json!([]), &unknown_user(name));
    }
    let tokens = store.tokens(name.as_ref())?;
    if as_json {
        print_json(&tokens.iter().map(token_json).collect())?;
    } else if tokens.is_empty() {
        note("There are no tokens; `onecall users token NAME` makes one");
    } else {
        print_styled(&rows(&tokens, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Deletes a token.
pub(super) fn revoke(store: &dyn Users, id: &str, as_json: bool) -> anyhow::Result<ExitCode> {
    let shown = visible_line(id);
    let is_revoked = store.revoke_token(id)?;
    let json = json!({ "id": id, "revoked": is_revoked });
    match is_revoked {
        true => done(as_json, &json, &format!("Revoked {shown}")),
        false => {
            let message =
                format!("there is no token '{shown}'; `onecall users tokens` lists all tokens");
            failed(as_json, &json, &message)
        }
    }
}

fn token_json(token: &StoredToken) -> Value {
    json!({
        "id": token.id,
        "user": token.user.as_str(),
        "label": token.label,
        "created": token.created.to_string(),
        "expires": token.expires.to_string(),
        "last_used": token.last_used.map(|at| at.to_string()),
    })
}

fn rows(tokens: &[StoredToken], now: Timestamp) -> String {
    let headings =
        ["ID", "USER", "EXPIRES", "LAST USED", "LABEL"].map(|name| (name, Alignment::Left));
    let row = |token: &StoredToken| {
        let expires = match token.expires <= now {
            true => "expired".to_owned(),
            false => token.expires.day(),
        };
        let used = token.last_used.map_or("never".to_owned(), |used| age(now.since(used)));
        let cells = [token.id.as_str(), token.user.as_str(), &expires, &used, &token.label];
        cells.map(|cell| visible_line(cell).into_owned()).to_vec()
    };
    table(&headings, &tokens.iter().map(row).collect::<Vec<_>>(), terminal_width())
}
