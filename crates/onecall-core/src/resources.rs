//! Access to what servers offer besides tools: resources, resource templates and prompts.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{BoxFuture, ResolvedCall, ServerName, ToolValue};

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
}

/// The error of a list or read request. The text is shown to the program that made it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ResourceError(pub String);

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
