//! The users of the gateway, for administrators.

use maud::html;

use super::context::PageContext;
use super::error::PageError;
use super::fields::segment;
use super::reply::PageAnswer;
use super::text;

pub(super) fn page(context: &PageContext) -> Result<PageAnswer, PageError> {
    if !context.sees_everyone() {
        return Err(PageError::NotFound);
    }
    let users = context.store.users()?;
    let tokens = context.store.tokens(None)?;
    let body = html! {
        @if users.is_empty() {
            div.empty { p { strong { "There are no users yet." } }
                p { code { "onecall users add NAME" } " adds one. People who log in with the identity provider appear by themselves." } }
        } @else { div.scroll { table {
            caption.sr { "Users" }
            thead { tr { th scope="col" { "Name" } th scope="col" { "State" } th scope="col" { "From" } th scope="col" { "Last seen" }
                th scope="col" { "Groups" } th.number scope="col" { "Tokens" } th scope="col" { span.sr { "Runs" } } } }
            tbody { @for user in &users { tr {
                @let groups: Vec<&str> = user.groups.union(&user.provider_groups).map(String::as_str).collect();
                td { (text::line(user.name.as_str(), 80)) }
                td { @match user.removed { Some(_) => span.tag.bad { "removed" }, None => span.tag.good { "active" } } }
                td { (user.source.name()) }
                td { @match user.last_seen { Some(seen) => (text::time(seen)), None => "never" } }
                td { (text::line(&groups.join(", "), 200)) }
                td.number { (tokens.iter().filter(|token| token.user == user.name).count()) }
                td { a href={ "/page/runs?user=" (segment(user.name.as_str())) } { "Runs" } }
            } } }
        } } }
        p.muted { code { "onecall users" } " adds and removes users, and makes tokens." }
    };
    Ok(PageAnswer::page("Users", body))
}
