//! What servers have besides tools: resources and prompts.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use thiserror::Error;

use crate::{BoxFuture, ResolvedCall, ServerName, ToolValue};

/// Lists and reads the resources and prompts of servers, on behalf of a program's call.
pub trait ResourceHost: Send + Sync {
    /// Every server, in the order of the configuration.
    fn servers(&self) -> Vec<ServerName>;

    /// The server that a program means by `name`: its name, or how callable names spell it.
    fn server_named(&self, name: &str) -> Option<ServerName>;

    /// Everything of one kind that a server lists; an empty list if it has no such things.
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

/// Why a server listed or read nothing. The text is for the program that asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ResourceError(pub String);

/// A kind of thing that a server lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// What can be read.
    Resources,
    /// Patterns of addresses that can be read.
    ResourceTemplates,
    /// Texts to begin a conversation with.
    Prompts,
}

impl ListKind {
    /// The method of the protocol that lists these things.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
            Self::Prompts => "prompts/list",
        }
    }

    /// The field of the answer that has the list.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
            Self::Prompts => "prompts",
        }
    }
}
