//! Display metadata of tools: title, annotations, icons and `_meta`. Programs do not use it, but a
//! client that calls an exposed tool directly gets it unchanged.

use std::collections::HashMap;

use onecall_core::ToolName;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Tool metadata larger than this is dropped.
const MAX_BYTES: usize = 64 * 1024;

/// The display metadata of one server's tools.
pub(crate) type DisplayMetadataByTool = HashMap<ToolName, ToolDisplayMetadata>;

/// The title, annotations, icons and metadata of a tool, as its server wrote them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolDisplayMetadata(pub Map<String, Value>);

/// The fields of a tool definition that are display metadata. All other fields are ignored.
#[derive(Deserialize)]
struct DisplayFields<'a> {
    #[serde(borrow)]
    title: Option<&'a RawValue>,
    #[serde(borrow)]
    annotations: Option<&'a RawValue>,
    #[serde(borrow)]
    icons: Option<&'a RawValue>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<&'a RawValue>,
}

impl ToolDisplayMetadata {
    /// Reads the display metadata from a tool definition; `None` if there is none or it is too
    /// large.
    pub(crate) fn read(definition: &RawValue) -> Option<Self> {
        let DisplayFields { title, annotations, icons, meta } =
            serde_json::from_str(definition.get()).ok()?;
        let parts =
            [("title", title), ("annotations", annotations), ("icons", icons), ("_meta", meta)];
        let parts = parts.into_iter().filter_map(|(key, part)| Some((key.to_owned(), part?)));
        let parts: Vec<(String, &RawValue)> = parts.collect();
        let bytes: usize = parts.iter().map(|(_, part)| part.get().len()).sum();
        if parts.is_empty() || bytes > MAX_BYTES {
            return None;
        }
        let read =
            |(key, part): (String, &RawValue)| Some((key, serde_json::from_str(part.get()).ok()?));
        Some(Self(parts.into_iter().filter_map(read).collect()))
    }
}
