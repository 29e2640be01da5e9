//! What a server says about a tool for those who show it to people: programs have no use
//! for it, but a client that calls the tool itself gets it as it came.

use std::collections::HashMap;

use onecall_core::ToolName;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What it consists of, in the protocol's words.
const KEYS: [&str; 4] = ["title", "annotations", "icons", "_meta"];

/// A face that is larger than this is none.
const MAX_BYTES: usize = 64 * 1024;

/// The faces of one server's tools.
pub(crate) type Faces = HashMap<ToolName, ToolFace>;

/// Title, annotations, icons and metadata of a tool, as its server wrote them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolFace(pub Map<String, Value>);

impl ToolFace {
    /// Takes them from a definition; `None` where there are none.
    pub(crate) fn read(definition: &RawValue) -> Option<Self> {
        let mut all: Map<String, Value> = serde_json::from_str(definition.get()).ok()?;
        all.retain(|key, _| KEYS.contains(&key.as_str()));
        let bytes: usize = all.values().map(|value| value.to_string().len()).sum();
        (!all.is_empty() && bytes <= MAX_BYTES).then_some(Self(all))
    }
}
