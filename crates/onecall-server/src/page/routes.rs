//! Finds the part of the page that an address belongs to.

use std::sync::Arc;

use super::context::PageContext;
use super::error::PageError;
use super::fields::unescaped;
use super::reply::{PageAnswer, PageReply};
use super::{audit, inbox, overview, policy, run, run_list, server_logins, servers, tools, users};

/// Answers a request for the address `/page/` and `rest`.
pub(super) async fn respond(context: PageContext, rest: &str, is_post: bool) -> PageReply {
    let context = Arc::new(context);
    let segments: Option<Vec<String>> =
        rest.split('/').filter(|it| !it.is_empty()).map(unescaped).collect();
    let answer = match segments {
        Some(segments) => answer(&context, &segments, is_post).await,
        None => Err(PageError::NotFound),
    };
    // The frame reads the store, too.
    let framed = tokio::task::spawn_blocking(move || PageReply::new(&context, answer)).await;
    framed.unwrap_or_else(|_| PageReply::Redirect("/page/".to_owned()))
}

async fn answer(
    context: &Arc<PageContext>,
    segments: &[String],
    is_post: bool,
) -> Result<PageAnswer, PageError> {
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match (is_post, segments.as_slice()) {
        (false, []) => blocking(context, overview::page).await,
        (false, ["runs"]) => blocking(context, run_list::page).await,
        (false, ["runs", id, rest @ ..]) => {
            let (id, rest) = ((*id).to_owned(), rest.iter().map(|it| (*it).to_owned()).collect());
            blocking(context, move |context| run::page(context, &id, rest)).await
        }
        (true, ["runs", id, "replay"]) => {
            let id = (*id).to_owned();
            blocking(context, move |context| run::replay(context, &id)).await
        }
        (false, ["inbox"]) => blocking(context, inbox::page).await,
        (true, ["inbox", item]) => {
            let item = (*item).to_owned();
            blocking(context, move |context| inbox::answer(context, &item)).await
        }
        (false, ["servers"]) => servers::page(context).await,
        (true, ["servers", name, "start"]) => servers::start(context, name).await,
        (true, ["servers", name, "login"]) => server_logins::log_in(context, name).await,
        (true, ["servers", name, "logout"]) => server_logins::log_out(context, name).await,
        (true, ["servers", name, "accept"]) => {
            let name = (*name).to_owned();
            blocking(context, move |context| servers::accept(context, &name)).await
        }
        (false, ["tools"]) => tools::page(context).await,
        (_, ["tools", name]) => tools::tool_page(context, name, is_post).await,
        (false, ["users"]) => blocking(context, users::page).await,
        (false, ["policy"]) => policy::page(context).await,
        (false, ["audit"]) => blocking(context, audit::page).await,
        (true, ["audit", "verify"]) => blocking(context, audit::verify).await,
        _ => Err(PageError::NotFound),
    }
}

/// Makes a page on a thread that may wait for the store.
pub(super) async fn blocking(
    context: &Arc<PageContext>,
    work: impl FnOnce(&PageContext) -> Result<PageAnswer, PageError> + Send + 'static,
) -> Result<PageAnswer, PageError> {
    let context = Arc::clone(context);
    match tokio::task::spawn_blocking(move || work(&context)).await {
        Ok(answer) => answer,
        Err(_) => Err(PageError::Failed("the page could not be made".to_owned())),
    }
}
