//! Finds the part of the page that an address belongs to.

use std::sync::Arc;

use super::context::PageContext;
use super::error::PageError;
use super::fields::{segment, unescaped};
use super::reply::{PageAnswer, PageReply};
use super::tools::SentCall;
use super::{
    Intent, audit, inbox, overview, policy, run, run_list, server_logins, servers, tools, users,
};

/// The longest address of a page, in bytes. Its query is repeated in the links of the page. The arguments of a
/// call that the policy page explains can be longer.
const MAX_ADDRESS: usize = 2_000;

/// Answers a request for the address `/page/` and `rest`.
pub(super) async fn respond(context: PageContext, rest: &str, intent: Intent) -> PageReply {
    let context = Arc::new(context);
    let segments: Option<Vec<String>> =
        rest.split('/').filter(|it| !it.is_empty()).map(unescaped).collect();
    let answer = match segments {
        Some(segments) => answer(&context, &segments, intent).await,
        None => Err(PageError::NotFound),
    };
    // The frame reads the store, too.
    let framed = tokio::task::spawn_blocking(move || PageReply::new(&context, answer)).await;
    framed.unwrap_or_else(|_| PageReply::Redirect("/page/".to_owned()))
}

async fn answer(
    context: &Arc<PageContext>,
    segments: &[String],
    intent: Intent,
) -> Result<PageAnswer, PageError> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match intent {
        Intent::Read => read(context, &segments).await,
        Intent::Send => send(context, &segments).await,
        Intent::SendStale => send_stale(context, &segments).await,
    }
}

async fn read(context: &Arc<PageContext>, segments: &[&str]) -> Result<PageAnswer, PageError> {
    if context.address.len() > MAX_ADDRESS && context.part != "policy" {
        let message = "the address is too long: search for less";
        return Err(PageError::Invalid(message.to_owned()));
    }
    match segments {
        [] => blocking(context, overview::page).await,
        ["runs"] => blocking(context, run_list::page).await,
        // The address of a form leads to the page that has the form: a browser is there after an error.
        ["runs", id, "replay"] => redirect(format!("/page/runs/{}", segment(id))),
        ["runs", id, rest @ ..] => {
            let (id, rest) = ((*id).to_owned(), rest.iter().map(|it| (*it).to_owned()).collect());
            blocking(context, move |context| run::page(context, &id, rest)).await
        }
        ["inbox"] => blocking(context, inbox::page).await,
        ["inbox", item] => redirect(format!("/page/inbox#question-{}", segment(item))),
        ["inbox", item, "arguments.txt"] => {
            let item = (*item).to_owned();
            blocking(context, move |context| inbox::arguments_file(context, &item)).await
        }
        ["servers"] => servers::page(context).await,
        ["servers", name, "changes.txt"] => {
            let name = (*name).to_owned();
            blocking(context, move |context| servers::changes_file(context, &name)).await
        }
        ["servers", name, "start" | "login" | "logout" | "accept"] => {
            redirect(format!("/page/servers#server-{}", segment(name)))
        }
        ["tools"] => tools::page(context).await,
        ["tools", name] => tools::tool_page(context, name, None).await,
        ["users"] => blocking(context, users::page).await,
        ["policy"] => policy::page(context).await,
        ["policy", "policies.txt"] => policy::file(context),
        ["audit"] => blocking(context, audit::page).await,
        ["audit", "verify"] => redirect("/page/audit".to_owned()),
        _ => Err(PageError::NotFound),
    }
}

fn redirect(address: String) -> Result<PageAnswer, PageError> {
    Ok(PageAnswer::Redirect(address))
}

async fn send(context: &Arc<PageContext>, segments: &[&str]) -> Result<PageAnswer, PageError> {
    match segments {
        ["runs", id, "replay"] => run::replay(context, id).await,
        ["inbox", item] => {
            let item = (*item).to_owned();
            blocking(context, move |context| inbox::answer(context, &item)).await
        }
        ["servers", name, "start"] => servers::start(context, name).await,
        ["servers", name, "login"] => server_logins::log_in(context, name).await,
        ["servers", name, "logout"] => server_logins::log_out(context, name).await,
        ["servers", name, "accept"] => {
            let name = (*name).to_owned();
            blocking(context, move |context| servers::accept(context, &name)).await
        }
        ["tools", name] => tools::tool_page(context, name, Some(SentCall::Genuine)).await,
        ["audit", "verify"] => blocking(context, audit::verify).await,
        _ => Err(PageError::NotFound),
    }
}

/// Answers a form that belongs to another session of the browser: it came from this server, and a person may have
/// typed much into it, but it does nothing.
async fn send_stale(
    context: &Arc<PageContext>,
    segments: &[&str],
) -> Result<PageAnswer, PageError> {
    match segments {
        ["inbox", item] => {
            let item = (*item).to_owned();
            blocking(context, move |context| inbox::give_back(context, &item)).await
        }
        ["tools", name] => tools::tool_page(context, name, Some(SentCall::Stale)).await,
        _ => Err(PageError::Forbidden(
            "this form does not belong to your session: load the page again, and repeat it"
                .to_owned(),
        )),
    }
}

/// Reads the store, or makes a page, on a thread that may wait for the store.
pub(super) async fn blocking<T: Send + 'static>(
    context: &Arc<PageContext>,
    work: impl FnOnce(&PageContext) -> Result<T, PageError> + Send + 'static,
) -> Result<T, PageError> {
    let context = Arc::clone(context);
    match tokio::task::spawn_blocking(move || work(&context)).await {
        Ok(answer) => answer,
        Err(_) => Err(PageError::Failed("the page could not be made".to_owned())),
    }
}
