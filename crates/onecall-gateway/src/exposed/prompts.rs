//! Exposed prompts: clients list and get them, and complete their arguments, as if they were connected
//! to the server.

use std::collections::HashSet;

use onecall_catalog::callable_names;
use onecall_core::{ListKind, ServerName, ToolError, ToolName};
use onecall_runtime::Observer;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::function_call::ClientFunction;
use super::lists::ListedEntry;
use super::names::{NamedEntry, client_names};
use super::resources::json_answer;
use crate::Gateway;

/// A prompt that clients may get directly.
#[derive(Clone, Debug)]
pub struct ExposedPrompt {
    /// The name that the prompt has for clients.
    pub name: String,
    /// The description of its server.
    pub fields: Map<String, Value>,
    server: ServerName,
    /// Whether its server listed it when it was asked last.
    is_current: bool,
}

impl ExposedPrompt {
    /// The name of the prompt on its server.
    fn own_name(&self) -> &str {
        self.fields.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}

impl Gateway {
    /// Whether clients may use prompts of servers directly.
    #[must_use]
    pub fn exposes_prompts(&self) -> bool {
        self.exposure.has_prompts()
    }

    /// The exposed prompts of all servers. Waits a short time for servers that are still connecting.
    pub async fn exposed_prompts(&self, observer: &dyn Observer) -> Vec<ExposedPrompt> {
        let mut prompts = self.listed_prompts(observer).await;
        prompts.retain(|prompt| prompt.is_current);
        prompts
    }

    /// Gets an exposed prompt; the answer is that of its server. `None` if there is no such prompt.
    ///
    /// # Errors
    /// If the prompt may not be used, or its server does not answer.
    pub async fn get_exposed_prompt(
        &self,
        name: &str,
        arguments: Option<Value>,
        observer: &dyn Observer,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let Some(prompt) = self.find_prompt(name, observer).await else { return Ok(None) };
        let mut given = json!({ "server": prompt.server.as_str(), "name": prompt.own_name() });
        if let Some(arguments) = arguments {
            given["arguments"] = arguments;
        }
        let got = self.call_function(ClientFunction::GetPrompt, given, observer).await?;
        json_answer(got, "get_prompt").map(Some)
    }

    /// Completes an argument of an exposed prompt; `None` if there is no such prompt.
    ///
    /// # Errors
    /// If the prompt may not be used, or its server does not answer.
    pub async fn complete_exposed_prompt(
        &self,
        name: &str,
        argument: Value,
        context: Option<Value>,
        observer: &dyn Observer,
    ) -> Result<Option<Box<RawValue>>, ToolError> {
        let Some(prompt) = self.find_prompt(name, observer).await else { return Ok(None) };
        let mut given = json!({
            "server": prompt.server.as_str(),
            "name": prompt.own_name(),
            "argument": argument,
        });
        if let Some(context) = context {
            given["context"] = context;
        }
        let completed = self.call_function(ClientFunction::CompletePrompt, given, observer).await?;
        json_answer(completed, "complete_prompt").map(Some)
    }

    async fn find_prompt(&self, name: &str, observer: &dyn Observer) -> Option<ExposedPrompt> {
        let known = self.known_or_listed(ListKind::Prompts, observer).await;
        let find = |prompts: Vec<ExposedPrompt>| prompts.into_iter().find(|it| it.name == name);
        match find(self.named_prompts(&known)) {
            Some(prompt) => Some(prompt),
            None => find(self.listed_prompts(observer).await),
        }
    }

    /// The prompts of all servers, also those of servers that do not answer now.
    async fn listed_prompts(&self, observer: &dyn Observer) -> Vec<ExposedPrompt> {
        self.named_prompts(&self.list_exposed(ListKind::Prompts, observer).await)
    }

    fn named_prompts(&self, listed: &[ListedEntry]) -> Vec<ExposedPrompt> {
        // A prompt that a server lists twice has one name.
        let mut seen = HashSet::new();
        let is_new = |entry: &&ListedEntry| {
            let name = entry.text("name");
            !name.is_empty() && seen.insert((entry.server.clone(), name.to_owned()))
        };
        let listed: Vec<&ListedEntry> = listed.iter().filter(is_new).collect();
        let identified: Vec<(ServerName, ToolName)> = listed
            .iter()
            .map(|entry| (entry.server.clone(), ToolName::new(entry.text("name"))))
            .collect();
        let callable = callable_names(&identified);
        let entries: Vec<NamedEntry<'_>> = listed
            .iter()
            .zip(&callable)
            .map(|(entry, callable)| NamedEntry { own: entry.text("name"), callable })
            .collect();
        let names = client_names(&entries, self.exposure.names, &[], |it| it.is_ascii_graphic());
        let prompt = |(entry, name): (&&ListedEntry, String)| ExposedPrompt {
            name,
            fields: entry.fields.clone(),
            server: entry.server.clone(),
            is_current: entry.is_current,
        };
        listed.iter().zip(names).map(prompt).collect()
    }
}
