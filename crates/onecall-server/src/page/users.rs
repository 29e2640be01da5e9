//! The users of the gateway, for administrators.

use std::collections::HashMap;

use maud::{Markup, html};
use onecall_core::UserName;
use onecall_core::storage::StoredUser;

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::reply::PageAnswer;
use super::room::{fill, left_beside};
use super::text;

/// How many users one page lists.
const PAGE_LENGTH: usize = 100;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    if !context.sees_everyone() {
        return Err(PageError::NotFound);
    }
    let query = &context.query;
    let wanted = query.get("q").map(str::to_lowercase);
    let all = context.store.users()?;
    let users: Vec<&StoredUser> = all
        .iter()
        .filter(|user| {
            wanted.as_ref().is_none_or(|it| user.name.as_str().to_lowercase().contains(it))
        })
        .collect();
    let mut tokens = HashMap::<UserName, usize>::new();
    for token in context.store.tokens(None)? {
        *tokens.entry(token.user).or_default() += 1;
    }
    let before = query.number::<usize>("after").unwrap_or(0);
    let after = |count: usize| query.with(&[("after", Some(&count.to_string()))]);
    let search = html! {
        form.filters method="get" role="search" aria-label="Search users" {
            label { "Name" input type="search" name="q" value=(query.get("q").unwrap_or_default()) maxlength="200"; }
            span.actions { button type="submit" { "Search" } }
        }
    };
    let link = html! { a href=(after(usize::MAX)) { "Users before" } };
    let room = left_beside(&[&search, &link, &link]);
    let shown = fill(users.iter().skip(before).take(PAGE_LENGTH), room, |user| {
        row(user, tokens.get(&user.name).copied().unwrap_or(0))
    });
    let end = before.saturating_add(shown.count);
    let body = html! {
        @if all.is_empty() {
            div.empty { p { strong { "There are no users yet." } }
                p { code { "onecall users add NAME" } " adds one. People who log in with the identity provider appear by themselves." } }
        } @else {
            (search)
            @if users.is_empty() {
                div.empty { p { "No user has such a name. " a href="/page/users" { "All users" } } }
            } @else { div.scroll { table {
                caption.sr { "Users" }
                thead { tr { th scope="col" { "Name" } th scope="col" { "State" } th scope="col" { "From" } th scope="col" { "Last seen" }
                    th scope="col" { "Groups" } th.number scope="col" { "Tokens" } th scope="col" { span.sr { "Runs" } } } }
                tbody { (shown.markup) }
            } } }
            nav.pages aria-label="Pages of users" {
                @if before > 0 { a href=(after(before.saturating_sub(PAGE_LENGTH))) { "Users before" } }
                @if end < users.len() { a href=(after(end)) { "More users" } }
                span.muted { (text::count(u64::try_from(users.len()).unwrap_or(u64::MAX), "user", "users")) }
            }
        }
        p.muted { code { "onecall users" } " adds and removes users, and makes tokens." }
    };
    Ok(PageAnswer::page("Users", body))
}

fn row(user: &StoredUser, tokens: usize) -> Markup {
    let groups: Vec<&str> = user.groups.union(&user.provider_groups).map(String::as_str).collect();
    html! { tr {
        td { (text::line(user.name.as_str(), 80)) }
        td { @match user.removed { Some(_) => span.tag.bad { "removed" }, None => span.tag.good { "active" } } }
        td { (user.source.name()) }
        td { @match user.last_seen { Some(seen) => (text::time(seen)), None => "never" } }
        td { (text::line(&groups.join(", "), 200)) }
        td.number { (tokens) }
        td { a href={ "/page/runs?user=" (segment(user.name.as_str())) } { "Runs" } }
    } }
}
