//! Pins: the tool definitions of a server as the user last approved them. A tool that differs from
//! its pin is kept from programs until the user accepts it, because a description that was harmless
//! at first can later contain instructions to a model.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onecall_catalog::{ToolDefinition, natural_name};
use onecall_config::{read_private_file, replace_private_file};
use onecall_core::storage::StoreError;
use onecall_core::text::shell_word;
use onecall_core::{CallableName, Digest, ServerName, ToolAnnotations, ToolName, ToolSpec};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::supervision::difference::{DefinitionPart, joined_names};
use crate::supervision::pin_storage::PinStorage;

/// Why a server's pins cannot be used.
#[derive(Debug, Error)]
pub enum PinError {
    /// The file cannot be read or written.
    #[error("its pins in '{path}' cannot be used: {reason}", path = path.display())]
    Inaccessible {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        reason: io::Error,
    },
    /// The store with the pins cannot be read or written.
    #[error("its pins cannot be used: {0}")]
    Store(#[from] StoreError),
    /// The pins are not in memory yet.
    #[error("{reason}; onecall tries again")]
    NotRead {
        /// Why they are not.
        reason: String,
    },
    /// Another process has changed the pins.
    #[error("another process has changed its pins in the meantime; look at its tools again")]
    Outdated,
    /// The pins in the store are invalid.
    #[error(
        "its pins in the store are damaged; restore the database, or delete the row '{key}' of the table 'pins', and the tools are pinned again when they are next seen"
    )]
    DamagedInStore {
        /// The key of the row.
        key: String,
    },
    /// The content of the file is invalid.
    #[error("its pins in '{path}' are damaged; remove the file, and the tools are pinned again when they are next seen", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
}

/// The pinned tools of one server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Pins {
    /// The name of the server, for people who read the file.
    server: String,
    tools: BTreeMap<String, Pin>,
}

/// A pinned tool definition.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pin {
    description: Option<String>,
    input_schema: Value,
    output_schema: Option<Value>,
    annotations: ToolAnnotations,
    /// The hashes that detect a change; the other fields let people compare the definitions.
    hashes: BTreeMap<DefinitionPart, String>,
}

/// The result of comparing a tool with its pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    /// The tool is unchanged.
    Same,
    /// The tool has no pin.
    New,
    /// These parts of the tool have changed.
    Changed(Vec<DefinitionPart>),
}

impl Pins {
    /// An empty set of pins.
    #[must_use]
    pub fn none(server: &ServerName) -> Self {
        Self { server: server.to_string(), tools: BTreeMap::new() }
    }

    /// The pins of all these tools as they are now.
    #[must_use]
    pub fn of(server: &ServerName, tools: &[ToolDefinition]) -> Self {
        let mut pins = Self::none(server);
        tools.iter().for_each(|tool| pins.accept(tool));
        pins
    }

    /// Reads the pins from a file; `None` if the file does not exist.
    ///
    /// # Errors
    /// If the file exists and cannot be used.
    pub fn read(path: &Path) -> Result<Option<Self>, PinError> {
        match read_private_file(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|_| PinError::Damaged { path: path.to_path_buf() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(reason) => Err(PinError::Inaccessible { path: path.to_path_buf(), reason }),
        }
    }

    /// Writes the pins to a file that only its owner can read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), PinError> {
        replace_private_file(path, self)
            .map_err(|reason| PinError::Inaccessible { path: path.to_path_buf(), reason })
    }

    /// Pins a tool in its current form.
    pub fn accept(&mut self, tool: &ToolDefinition) {
        let pin = Pin {
            description: tool.description.as_deref().map(str::to_owned),
            input_schema: (*tool.input_schema.value()).clone(),
            output_schema: tool.output_schema.as_ref().map(|it| (*it.value()).clone()),
            annotations: tool.annotations.clone(),
            hashes: DefinitionPart::ALL.into_iter().map(|part| (part, hash(part, tool))).collect(),
        };
        self.tools.insert(tool.tool.as_str().to_owned(), pin);
    }

    /// Compares a tool with its pin.
    #[must_use]
    pub fn state(&self, tool: &ToolDefinition) -> PinState {
        let Some(pin) = self.tools.get(tool.tool.as_str()) else { return PinState::New };
        let differs = |part: &DefinitionPart| pin.hashes.get(part) != Some(&hash(*part, tool));
        let parts: Vec<DefinitionPart> = DefinitionPart::ALL.into_iter().filter(differs).collect();
        if parts.is_empty() { PinState::Same } else { PinState::Changed(parts) }
    }

    /// The pinned definition of a tool, if there is one.
    #[must_use]
    pub fn definition(&self, tool: &ToolName) -> Option<ToolDefinition> {
        let pin = self.tools.get(tool.as_str())?;
        Some(ToolDefinition {
            tool: tool.clone(),
            description: pin.description.as_deref().map(Into::into),
            input_schema: pin.input_schema.clone().into(),
            output_schema: pin.output_schema.clone().map(Into::into),
            annotations: pin.annotations.clone(),
        })
    }
}

/// A tool that programs may not call until the user has accepted it. The display text gives the
/// reason and the command to accept it.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantinedTool {
    /// The tool as programs see it: the pinned definition, or only its name.
    pub spec: Arc<ToolSpec>,
    reason: QuarantineReason,
}

#[derive(Clone, Debug, PartialEq)]
enum QuarantineReason {
    New,
    Changed(Vec<DefinitionPart>),
    NoPins(String),
}

impl fmt::Display for QuarantinedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.reason {
            QuarantineReason::New => "it is new since its server was pinned".to_owned(),
            QuarantineReason::Changed(parts) => {
                format!("its {} changed since it was pinned", joined_names(parts))
            }
            QuarantineReason::NoPins(problem) => return formatter.write_str(problem),
        };
        let server = shell_word(self.spec.server.as_str());
        write!(formatter, "{what}; accept it with: onecall pin {server}")
    }
}

/// Divides the tools of a pinned server into unchanged and quarantined ones. On the first
/// connection to the server, all tools are pinned; where pins are in a store, [`PinStorage::prepare`] has
/// done that.
pub(crate) fn check_and_pin(
    server: &ServerName,
    storage: &PinStorage,
    file: &Path,
    tools: &[ToolDefinition],
) -> (Vec<ToolDefinition>, Vec<QuarantinedTool>) {
    let pins = match (storage.known(file), storage) {
        (Ok(Some(known)), _) => Ok((*known.pins).clone()),
        // The first connection with any tools is the one that pins them.
        (Ok(None), PinStorage::Files) if !tools.is_empty() => pin_all(server, file, tools),
        (Ok(None), _) => Ok(Pins::none(server)),
        (Err(error), _) => Err(error),
    };
    split_by_pins(server, &pins, tools)
}

/// Divides the tools of a pinned server as [`check_and_pin`] does, but writes no pins: if the server has
/// none yet, all tools are usable.
pub(crate) fn check_against_pins(
    server: &ServerName,
    storage: &PinStorage,
    file: &Path,
    tools: &[ToolDefinition],
) -> (Vec<ToolDefinition>, Vec<QuarantinedTool>) {
    match storage.read(file).transpose() {
        Some(pins) => {
            let pins = pins.map(|pins| (*pins.pins).clone());
            split_by_pins(server, &pins, tools)
        }
        None => (tools.to_vec(), Vec::new()),
    }
}

fn split_by_pins(
    server: &ServerName,
    pins: &Result<Pins, PinError>,
    tools: &[ToolDefinition],
) -> (Vec<ToolDefinition>, Vec<QuarantinedTool>) {
    let (mut usable, mut quarantined) = (Vec::new(), Vec::new());
    for tool in tools {
        let (known, reason) = match pins {
            Ok(pins) => match pins.state(tool) {
                PinState::Same => {
                    usable.push(tool.clone());
                    continue;
                }
                PinState::New => (None, QuarantineReason::New),
                PinState::Changed(parts) => {
                    (pins.definition(&tool.tool), QuarantineReason::Changed(parts))
                }
            },
            Err(error) => (None, QuarantineReason::NoPins(error.to_string())),
        };
        let spec = Arc::new(quarantined_spec(server, &tool.tool, known));
        quarantined.push(QuarantinedTool { spec, reason });
    }
    (usable, quarantined)
}

fn pin_all(server: &ServerName, file: &Path, tools: &[ToolDefinition]) -> Result<Pins, PinError> {
    let pins = Pins::of(server, tools);
    pins.write(file)?;
    tracing::info!(%server, tools = tools.len(), "the server's tools are pinned as they are now");
    Ok(pins)
}

/// The specification of a quarantined tool. It contains nothing that the user has not approved.
fn quarantined_spec(
    server: &ServerName,
    tool: &ToolName,
    known: Option<ToolDefinition>,
) -> ToolSpec {
    let known = known.unwrap_or_else(|| ToolDefinition {
        tool: tool.clone(),
        description: None,
        input_schema: json!({ "properties": unnamed_parameters() }).into(),
        output_schema: None,
        annotations: ToolAnnotations::default(),
    });
    ToolSpec {
        callable: CallableName::new(natural_name(server, tool)),
        server: server.clone(),
        tool: known.tool,
        description: known.description,
        input_schema: known.input_schema,
        output_schema: known.output_schema,
        annotations: known.annotations,
    }
}

/// Placeholder parameters for positional arguments. No call gets through, but the program should
/// get the error about the quarantine and not one about its arguments.
fn unnamed_parameters() -> Map<String, Value> {
    (1..=32).map(|number| (format!("argument_{number}"), json!({}))).collect()
}

fn hash(part: DefinitionPart, tool: &ToolDefinition) -> String {
    Digest::of(part.canonical(tool)).to_string()
}
