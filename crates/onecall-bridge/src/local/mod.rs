//! Tools that need no MCP server: a command that is started for each call, or one of a few built-in
//! tools for the files of a folder. Programs see them as tools of a server named `local`.

mod answer;
mod arguments;
mod argv;
mod builtin;
mod command;
mod files;
mod folder;
mod pattern;
mod process;

use std::collections::HashMap;
use std::sync::Arc;

use onecall_catalog::ToolDefinition;
use onecall_config::{LocalTool, LocalToolKind};
use onecall_core::{AnswerForm, ToolName, ToolSpec, ToolValue};
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::sync::watch;

use crate::supervision::guard::Guard;
use crate::supervision::status::{ServerState, ServerStatus};

/// Why a call of a local tool failed. The display text is what the program reads.
#[derive(Debug, Error)]
pub(crate) enum LocalError {
    #[error("there is no such local tool")]
    Unknown,
    #[error("onecall is stopping")]
    Stopping,
    #[error(transparent)]
    Command(#[from] command::CommandError),
    #[error(transparent)]
    Files(#[from] files::FilesError),
}

/// All local tools.
pub(crate) struct LocalTools {
    tools: HashMap<ToolName, LocalTool>,
    definitions: Arc<Vec<ToolDefinition>>,
    guard: Guard,
    stopping: watch::Receiver<bool>,
}

impl LocalTools {
    /// Creates the set of local tools; `None` if `tools` is empty.
    pub fn new(
        tools: Vec<LocalTool>,
        guard: Guard,
        stopping: watch::Receiver<bool>,
    ) -> Option<Self> {
        if tools.is_empty() {
            return None;
        }
        let definitions = Arc::new(tools.iter().map(definition).collect());
        let tools = tools.into_iter().map(|tool| (tool.name.clone(), tool)).collect();
        Some(Self { tools, definitions, guard, stopping })
    }

    pub fn definitions(&self) -> Arc<Vec<ToolDefinition>> {
        Arc::clone(&self.definitions)
    }

    pub fn status(&self) -> ServerStatus {
        let state = ServerState::Local { tools: self.definitions.len() };
        ServerStatus {
            name: LocalTool::server(),
            user: None,
            transport: "local",
            state,
            quarantined: Vec::new(),
            restarts: 0,
            cut: None,
        }
    }

    /// One line for each tool that cannot be used at present, with the reason.
    pub fn problems(&self) -> Vec<String> {
        let problem = |definition: &ToolDefinition| {
            let problem = match &self.tools.get(&definition.tool)?.kind {
                LocalToolKind::Command(tool) => command::problem(tool),
                LocalToolKind::Files(tool) => files::problem(tool),
            };
            Some(format!("local tool '{}' cannot be called: {}", definition.tool, problem?))
        };
        self.definitions.iter().filter_map(problem).collect()
    }

    /// Calls a local tool.
    pub async fn call(
        &self,
        spec: &ToolSpec,
        arguments: &RawValue,
        form: AnswerForm,
    ) -> Result<ToolValue, LocalError> {
        let Some(tool) = self.tools.get(&spec.tool) else {
            return Err(LocalError::Unknown);
        };
        let mut stopping = self.stopping.clone();
        let work = async {
            match &tool.kind {
                LocalToolKind::Command(command) => {
                    let guard = self.guard.clone();
                    Ok(command::call(tool, command, arguments, guard).await?)
                }
                LocalToolKind::Files(files) => Ok(files::call(files, arguments).await?),
            }
        };
        let value: Result<_, LocalError> = tokio::select! {
            value = work => value,
            // An error means that the sender was dropped, which is a stop as well.
            _ = stopping.wait_for(|stop| *stop) => return Err(LocalError::Stopping),
        };
        let value = value?;
        Ok(match form {
            AnswerForm::Value => value,
            AnswerForm::Whole | AnswerForm::Untouched => {
                answer::complete_answer(value, spec.output_schema.as_ref())
            }
        })
    }
}

/// The definition of a local tool, made from its entry in the configuration.
pub(crate) fn definition(tool: &LocalTool) -> ToolDefinition {
    match &tool.kind {
        LocalToolKind::Command(command) => ToolDefinition {
            tool: tool.name.clone(),
            description: tool.description.as_deref().map(Into::into),
            input_schema: command.input_schema.clone().into(),
            output_schema: None,
            annotations: tool.annotations.clone(),
        },
        LocalToolKind::Files(files) => builtin::definition(tool, files),
    }
}
