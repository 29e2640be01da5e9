//! Gives the runtime access to the resources and prompts of bridged servers.

use std::sync::Arc;

use onecall_bridge::{Bridge, ResourceRequestError};
use onecall_core::{
    BoxFuture, Completion, ListKind, ResolvedCall, ResourceError, ResourceHost, ServerName,
    ToolValue,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The resources and prompts of the servers of a bridge.
pub(crate) struct BridgedResources(pub(crate) Arc<Bridge>);

impl ResourceHost for BridgedResources {
    fn servers(&self) -> Vec<ServerName> {
        self.0.status().into_iter().map(|status| status.name).collect()
    }

    fn server_named(&self, name: &str) -> Option<ServerName> {
        self.0.server_named(name)
    }

    fn list<'a>(
        &'a self,
        server: &'a ServerName,
        kind: ListKind,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<Vec<Map<String, Value>>, ResourceError>> {
        Box::pin(async move {
            self.0.list(server, kind, call).await.map_err(|error| resource_error(&error))
        })
    }

    fn read_resource<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>> {
        Box::pin(async move {
            let read = self.0.read_resource(server, uri, call).await;
            read.map_err(|error| resource_error(&error))
        })
    }

    fn get_prompt<'a>(
        &'a self,
        server: &'a ServerName,
        name: &'a str,
        arguments: Option<&'a RawValue>,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>> {
        Box::pin(async move {
            let got = self.0.get_prompt(server, name, arguments, call).await;
            got.map_err(|error| resource_error(&error))
        })
    }

    fn subscribe<'a>(
        &'a self,
        server: &'a ServerName,
        uri: &'a str,
        _call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<(), ResourceError>> {
        Box::pin(async move {
            self.0.subscribe(server, uri).await.map_err(|error| resource_error(&error))
        })
    }

    fn complete<'a>(
        &'a self,
        server: &'a ServerName,
        completion: &'a Completion<'a>,
        call: &'a ResolvedCall,
    ) -> BoxFuture<'a, Result<ToolValue, ResourceError>> {
        Box::pin(async move {
            let completed = self.0.complete(server, completion, call).await;
            completed.map_err(|error| resource_error(&error))
        })
    }
}

fn resource_error(error: &ResourceRequestError) -> ResourceError {
    let refusal = error.refusal().cloned().map(Box::new);
    ResourceError { message: error.to_string(), refusal }
}
