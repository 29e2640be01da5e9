//! Access to what servers offer besides tools: resources, resource templates and prompts.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{BoxFuture, ResolvedCall, ServerName, ServerRefusal, ToolValue};

/// Lists and reads the resources and prompts of servers, on behalf of a program's call.
pub trait ResourceHost: Send + Sync {
    /// All servers, in the order of the configuration.
    fn servers(&self) -> Vec<ServerName>;

    /// The server that a program refers to by `name`: its configured name, or the form that
    /// callable names use.
    fn server_named(&self, name: &str) -> Option<ServerName>;

    /// Everything of one kind that a server lists; an empty list if it has none.
    fn list<'a>(
        &'a self,
        server: &'a ServerName,
        kind: ListKind,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<Vec<Map<String, Value>>, ResourceError>>;

    /// The content of a resource.
    fn read_resource<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>>;

    /// The messages of a prompt.
    fn get_prompt<'a>(
        &'a self,
        server: &'a ServerName,
        name: &'a str,
        arguments: Option<&'a RawValue>,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>>;

    /// Subscribes to the changes of a resource, once more if there is a subscription already.
    fn subscribe<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<(), ResourceError>>;

    /// The completions that a server suggests for an argument of a prompt or a resource template.
    fn complete<'a>(
        &'a self,
        server: &'a ServerName,
        completion: &'a Completion<'a>,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>>;
}

/// A request for completions of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Completion<'a> {
    /// The prompt or resource template that has the argument.
    pub subject: CompletionSubject<'a>,
    /// The name of the argument and what has been typed of it, as the protocol writes it.
    pub argument: &'a RawValue,
    /// Other arguments that have a value already, as the protocol writes them.
    pub context: Option<&'a RawValue>,
}

/// What an argument belongs to.
#[derive(Clone, Copy, Debug)]
pub enum CompletionSubject<'a> {
    /// The prompt with this name on its server.
    Prompt(&'a str),
    /// The resource template with this pattern.
    ResourceTemplate(&'a str),
}

/// The error of a request for resources or prompts. The message is shown to the program that made it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ResourceError {
    /// The reason.
    pub message: String,
    /// The error response of the server, if it refused the request.
    pub refusal: Option<Box<ServerRefusal>>,
}

impl ResourceError {
    /// An error that is not an error response of a server.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), refusal: None }
    }
}

/// A kind of list that a server offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// Resources that can be read.
    Resources,
    /// Patterns of resource URIs.
    ResourceTemplates,
    /// Prompts: texts to begin a conversation with.
    Prompts,
}

impl ListKind {
    /// The protocol method that returns this list.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The field of the response that contains the list.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}
