//! `onecall users list`: the users, one per row.

use std::process::ExitCode;

use onecall_core::Timestamp;
use onecall_core::storage::{StoredUser, Users};
use onecall_core::text::visible_line;
use serde_json::{Value, json};

use super::print_json;
use crate::commands::note;
use crate::formatting::{Alignment, age, table, terminal_width};
use crate::terminal::print_styled;

pub(super) fn list(store: &dyn Users, as_json: bool) -> anyhow::Result<ExitCode> {
    let users = store.users()?;
    if as_json {
        print_json(&users.iter().map(user_json).collect())?;
    } else if users.is_empty() {
        note("There are no users; `onecall users add NAME` adds one");
    } else {
        print_styled(&rows(&users, Timestamp::now()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn user_json(user: &StoredUser) -> Value {
    json!({
        "name": user.name.as_str(),
        "groups": user.groups,
        "source": user.source.name(),
        "created": user.created.to_string(),
        "last_seen": user.last_seen.map(|at| at.to_string()),
        "removed": user.removed.map(|at| at.to_string()),
    })
}

fn rows(users: &[StoredUser], now: Timestamp) -> String {
    let headings =
        ["NAME", "STATE", "FROM", "LAST SEEN", "GROUPS"].map(|name| (name, Alignment::Left));
    let row = |user: &StoredUser| {
        let groups: Vec<&str> = user.groups.iter().map(String::as_str).collect();
        let cells = [
            user.name.to_string(),
            if user.removed.is_some() { "removed" } else { "active" }.to_owned(),
            user.source.name().to_owned(),
            user.last_seen.map_or("never".to_owned(), |seen| age(now.since(seen))),
            match groups.as_slice() {
                [] => "-".to_owned(),
                groups => groups.join(", "),
            },
        ];
        cells.map(|cell| visible_line(&cell).into_owned()).to_vec()
    };
    table(&headings, &users.iter().map(row).collect::<Vec<_>>(), terminal_width())
}
