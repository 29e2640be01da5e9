//! The resources and prompts of servers, listed page by page and read. Whatever a server sends, a
//! list ends and stays within its limits.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use onecall_config::ServerLimits;
use onecall_core::{
    AnswerForm, Completion, ListKind, LogLevel, ResolvedCall, ServerName, ServerRefusal, ToolValue,
};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Bridge;
use crate::error::RequestError;
use crate::protocol::input::{self, InputError, InputRequired, MAX_ROUNDS};
use crate::protocol::request::Request;
use crate::protocol::request_origin::RequestOrigin;

/// The size limit of all pages of a list together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// How long servers have to accept the level of log messages that a client wants.
const LOG_LEVEL_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a server's resources or prompts cannot be listed or read. The display text is what a program
/// reads.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResourceRequestError {
    /// The configuration has no server with this name.
    #[error("there is no such server")]
    NoServer,
    /// The server is not running.
    #[error("{message}")]
    NotRunning {
        /// The name of the server, the reason, and when it is started again.
        message: String,
    },
    /// The request failed.
    #[error("{reason}")]
    Unanswered {
        /// The error of the request.
        reason: String,
        /// The error response of the server, if it refused the request.
        refusal: Option<Box<ServerRefusal>>,
    },
    /// The server does not support resources.
    #[error("the server has no resources")]
    NoResources,
    /// The server does not support prompts.
    #[error("the server has no prompts")]
    NoPrompts,
    /// The answer is larger than the limit.
    #[error("the answer is larger than {} MiB", limit_bytes / (1024 * 1024))]
    TooLarge {
        /// The limit in bytes.
        limit_bytes: usize,
    },
    /// A page of a list cannot be parsed.
    #[error("the list is not valid: {0}")]
    InvalidList(serde_json::Error),
    /// A page does not contain the list that was requested.
    #[error("the list is not valid: it has no '{key}'")]
    MissingList {
        /// The field that contains the list.
        key: &'static str,
    },
    /// The list exceeds a limit.
    #[error("the list is longer than `limits` in the configuration allows")]
    TooLong,
    /// The server returned a cursor that was used before, so the list would never end.
    #[error("the list does not end: the server sends the same page again")]
    RepeatedCursor,
    /// The server does not support subscriptions.
    #[error("the server has no subscriptions to resources")]
    NoSubscriptions,
    /// Clients are subscribed to as many resources as they may be.
    #[error("clients watch too many resources of the server already")]
    TooManySubscriptions,
    /// The server does not support completions.
    #[error("the server has no completions")]
    NoCompletions,
    /// The server asked questions that have no answer.
    #[error("{reason}")]
    Unanswerable {
        /// Why there is no answer.
        reason: String,
    },
    /// The answer is not an object.
    #[error("the server sent a result that is not an object")]
    NoObject,
    /// The answer cannot be parsed.
    #[error("the server sent a result that is not valid: {0}")]
    Invalid(serde_json::Error),
    /// The value cannot be serialized as JSON.
    #[error(transparent)]
    NoJson(#[from] serde_json::Error),
}

impl ResourceRequestError {
    pub(crate) fn unanswered(error: RequestError) -> Self {
        Self::Unanswered { reason: error.to_string(), refusal: error.refusal() }
    }

    /// The error response of the server, if it refused the request.
    #[must_use]
    pub fn refusal(&self) -> Option<&ServerRefusal> {
        match self {
            Self::Unanswered { refusal, .. } => refusal.as_deref(),
            _ => None,
        }
    }
}

impl From<InputError> for ResourceRequestError {
    fn from(error: InputError) -> Self {
        Self::Unanswerable { reason: error.to_string() }
    }
}

impl Bridge {
    /// Everything of one kind that a server lists; an empty list if it does not support the kind.
    ///
    /// # Errors
    /// If the server does not answer, or not with a list.
    pub async fn list(
        &self,
        server: &ServerName,
        kind: ListKind,
        call: &ResolvedCall,
    ) -> Result<Vec<Map<String, Value>>, ResourceRequestError> {
        let origin = RequestOrigin::of(&call.name, call.run.caller.as_ref());
        let server = self.server(server).ok_or(ResourceRequestError::NoServer)?;
        let mut listing = ResourceListProgress::new(self.options().limits);
        let pages = async {
            let mut cursor: Option<String> = None;
            loop {
                let request =
                    Request::List { kind, cursor: cursor.as_deref(), origin: origin.as_ref() };
                let Some(page) = server.request_if_supported(request, read_page).await? else {
                    return Ok(());
                };
                match listing.add(page?, kind)? {
                    Some(next) => cursor = Some(next),
                    None => return Ok(()),
                }
            }
        };
        server.with_list_timeout(pages).await?;
        Ok(listing.entries)
    }

    /// The content of a resource.
    ///
    /// # Errors
    /// If the server does not answer, or not with a resource.
    pub async fn read_resource(
        &self,
        server: &ServerName,
        uri: &str,
        call: &ResolvedCall,
    ) -> Result<ToolValue, ResourceRequestError> {
        let origin = RequestOrigin::of(&call.name, call.run.caller.as_ref());
        let request = Request::ReadResource { uri, origin: origin.as_ref(), input: None };
        let read = self.request_with_input(server, request, call).await?;
        match read.ok_or(ResourceRequestError::NoResources)? {
            result if call.form == AnswerForm::Untouched => Ok(ToolValue::Json(result)),
            result => resource_value(&result),
        }
    }

    /// The messages of a prompt.
    ///
    /// # Errors
    /// If the server does not answer, or not with a prompt.
    pub async fn get_prompt(
        &self,
        server: &ServerName,
        name: &str,
        arguments: Option<&RawValue>,
        call: &ResolvedCall,
    ) -> Result<ToolValue, ResourceRequestError> {
        let origin = RequestOrigin::of(&call.name, call.run.caller.as_ref());
        let origin = origin.as_ref();
        let request = Request::GetPrompt { name, arguments, origin, input: None };
        let got = self.request_with_input(server, request, call).await?;
        match got.ok_or(ResourceRequestError::NoPrompts)? {
            result if call.form == AnswerForm::Untouched => Ok(ToolValue::Json(result)),
            result => prompt_value(&result),
        }
    }

    /// The completions for an argument, as the server sent them.
    ///
    /// # Errors
    /// If the server does not answer, or has no completions.
    pub async fn complete(
        &self,
        server: &ServerName,
        completion: &Completion<'_>,
        call: &ResolvedCall,
    ) -> Result<ToolValue, ResourceRequestError> {
        let origin = RequestOrigin::of(&call.name, call.run.caller.as_ref());
        let server = self.server(server).ok_or(ResourceRequestError::NoServer)?;
        let request = Request::Complete { completion, origin: origin.as_ref() };
        let completed = server.request_if_supported(request, RawValue::to_owned).await?;
        let completed = completed.ok_or(ResourceRequestError::NoCompletions)?;
        self.check_size(completed).map(ToolValue::Json)
    }

    /// Subscribes a client to the changes of a resource, until [`unsubscribe`](Self::unsubscribe) is
    /// called.
    ///
    /// # Errors
    /// If the server does not accept the subscription.
    pub async fn subscribe(
        &self,
        server: &ServerName,
        uri: &str,
    ) -> Result<(), ResourceRequestError> {
        let server = self.server(server).ok_or(ResourceRequestError::NoServer)?;
        server.subscribe(uri).await
    }

    /// Ends the subscription of a client to the changes of a resource.
    pub async fn unsubscribe(&self, server: &ServerName, uri: &str) {
        if let Some(server) = self.server(server) {
            server.unsubscribe(uri).await;
        }
    }

    /// Makes the servers that `is_selected` selects send log messages of this level.
    pub async fn want_log_messages(
        &self,
        level: LogLevel,
        is_selected: impl Fn(&ServerName) -> bool,
    ) {
        let mut asked = JoinSet::new();
        for server in self.fleet().servers().filter(|server| is_selected(server.name())) {
            let server = Arc::clone(server);
            asked.spawn(async move { server.want_log_messages(level).await });
        }
        // A server that does not answer goes on as it was.
        let all = async { while asked.join_next().await.is_some() {} };
        let _ = timeout(LOG_LEVEL_TIMEOUT, all).await;
    }

    /// Sends a request and answers the questions that the server puts into its results, until it has
    /// an answer. Questions are part of the answer if the client answers them itself. `None` if the
    /// server does not support the method.
    async fn request_with_input(
        &self,
        server: &ServerName,
        request: Request<'_>,
        call: &ResolvedCall,
    ) -> Result<Option<Box<RawValue>>, ResourceRequestError> {
        let server = self.server(server).ok_or(ResourceRequestError::NoServer)?;
        let client_input = input::client_input(call);
        let mut answers = None;
        for _ in 0..=MAX_ROUNDS {
            let request = request.with_input(answers.as_ref().or(client_input));
            let Some(result) = server.request_if_supported(request, RawValue::to_owned).await?
            else {
                return Ok(None);
            };
            let result = self.check_size(result)?;
            let Some(required) = InputRequired::read(&result) else { return Ok(Some(result)) };
            if client_input.is_some() {
                return Ok(Some(required.for_client(server.name())?));
            }
            let caller = call.run.caller.as_deref();
            answers = Some(required.ask_client(server.name(), caller).await?);
        }
        Err(InputError::TooManyRounds.into())
    }

    fn check_size(&self, result: Box<RawValue>) -> Result<Box<RawValue>, ResourceRequestError> {
        let limit_bytes = self.options().limits.max_result_bytes;
        match result.get().len() {
            bytes if bytes > limit_bytes => Err(ResourceRequestError::TooLarge { limit_bytes }),
            _ => Ok(result),
        }
    }
}

/// A parsed page of a list.
struct Page {
    fields: Map<String, Value>,
    bytes: usize,
}

fn read_page(result: &RawValue) -> Result<Page, ResourceRequestError> {
    let fields = serde_json::from_str(result.get()).map_err(ResourceRequestError::InvalidList)?;
    Ok(Page { fields, bytes: result.get().len() })
}

/// The state of a listing in progress.
struct ResourceListProgress {
    limits: ServerLimits,
    entries: Vec<Map<String, Value>>,
    cursors: HashSet<String>,
    bytes: usize,
}

impl ResourceListProgress {
    fn new(limits: ServerLimits) -> Self {
        Self { limits, entries: Vec::new(), cursors: HashSet::new(), bytes: 0 }
    }

    /// Adds a page and returns the cursor of the next one, if there is one.
    fn add(
        &mut self,
        mut page: Page,
        kind: ListKind,
    ) -> Result<Option<String>, ResourceRequestError> {
        let Some(Value::Array(entries)) = page.fields.remove(kind.key()) else {
            return Err(ResourceRequestError::MissingList { key: kind.key() });
        };
        // An entry that is not an object is invalid and is left out.
        self.entries.extend(entries.into_iter().filter_map(|entry| match entry {
            Value::Object(entry) => Some(entry),
            _ => None,
        }));
        self.bytes = self.bytes.saturating_add(page.bytes);
        let cursor = match page.fields.remove("nextCursor") {
            Some(Value::String(cursor)) if !cursor.is_empty() => cursor,
            _ => return Ok(None),
        };
        let too_many = self.entries.len() > self.limits.max_tools || self.bytes > MAX_BYTES;
        if too_many || self.cursors.len() + 1 >= self.limits.max_pages {
            return Err(ResourceRequestError::TooLong);
        }
        if !self.cursors.insert(cursor.clone()) {
            return Err(ResourceRequestError::RepeatedCursor);
        }
        Ok(Some(cursor))
    }
}

#[derive(Deserialize)]
struct Contents {
    contents: Vec<Map<String, Value>>,
}

/// The value of a resource: the text of a single text resource, otherwise the objects that the
/// server sent.
fn resource_value(result: &RawValue) -> Result<ToolValue, ResourceRequestError> {
    let Contents { mut contents } = read(result)?;
    let value = match contents.as_mut_slice() {
        [] => return Ok(ToolValue::Nothing),
        [one] => match one.get_mut("text").map(Value::take) {
            Some(Value::String(text)) => Value::String(text),
            _ => Value::Object(std::mem::take(one)),
        },
        _ => contents.into_iter().map(Value::Object).collect(),
    };
    Ok(ToolValue::Json(to_raw_value(&value)?))
}

fn prompt_value(result: &RawValue) -> Result<ToolValue, ResourceRequestError> {
    let mut prompt: Map<String, Value> = read(result)?;
    prompt.remove("_meta");
    prompt.remove("resultType");
    Ok(ToolValue::Json(to_raw_value(&prompt)?))
}

fn read<'a, T: Deserialize<'a>>(result: &'a RawValue) -> Result<T, ResourceRequestError> {
    if !result.get().starts_with('{') {
        return Err(ResourceRequestError::NoObject);
    }
    serde_json::from_str(result.get()).map_err(ResourceRequestError::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(result: &str) -> String {
        match resource_value(&RawValue::from_string(result.to_owned()).unwrap()) {
            Ok(ToolValue::Json(json)) => json.get().to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_resource_is_text_or_what_the_server_sent() {
        assert_eq!(value(r#"{"contents":[{"uri":"a:b","text":"[1]"}]}"#), r#""[1]""#);
        let blob = r#"{"uri":"a:b","mimeType":"image/png","blob":"AAAA"}"#;
        assert_eq!(value(&format!(r#"{{"contents":[{blob}]}}"#)), blob);
        assert_eq!(
            value(&format!(r#"{{"contents":[{blob},{blob}]}}"#)),
            format!("[{blob},{blob}]")
        );
        assert_eq!(value(r#"{"contents":[]}"#), "Nothing");
        assert_eq!(value("[[]]"), "the server sent a result that is not an object");
    }

    #[test]
    fn a_list_without_end_ends() {
        let limits = ServerLimits { max_pages: 3, ..ServerLimits::default() };
        let page = |cursor: &str| {
            let json = format!(r#"{{"prompts":[{{"name":"a"}},5],"nextCursor":"{cursor}"}}"#);
            read_page(&RawValue::from_string(json).unwrap()).unwrap()
        };
        let mut listing = ResourceListProgress::new(limits);
        assert_eq!(listing.add(page("1"), ListKind::Prompts).unwrap().as_deref(), Some("1"));
        assert!(listing.add(page("1"), ListKind::Prompts).is_err());
        assert_eq!(listing.add(page("2"), ListKind::Prompts).unwrap().as_deref(), Some("2"));
        assert!(listing.add(page("3"), ListKind::Prompts).is_err());
        assert_eq!(listing.add(page(""), ListKind::Prompts).unwrap(), None);
        assert!(listing.add(page(""), ListKind::Resources).is_err());
        assert_eq!(listing.entries.len(), 5);
    }
}
