//! Lists a server's tools, page by page. Whatever the server sends, the listing ends and stays
//! within its limits; an invalid tool is left out, and the others are kept.

use std::collections::HashSet;

use onecall_catalog::ToolDefinition;
use onecall_config::ServerLimits;
use onecall_core::text::one_line;
use onecall_core::{ServerName, ToolAnnotations, ToolName};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;
use tracing::warn;

use crate::error::{AnswerError, RequestError, StartError};
use crate::protocol::definition;
use crate::protocol::display_metadata::{DisplayMetadataByTool, ToolDisplayMetadata};
use crate::protocol::peer::Peer;
use crate::protocol::request::Request;
use crate::supervision::status::{ListingCut, ListingLimit};

/// The size limit of all pages together.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest tool name that is accepted.
const MAX_NAME_BYTES: usize = 1_024;
/// How much of an invalid tool a warning quotes, in characters.
const MAX_SHOWN: usize = 100;
/// How many invalid tools are reported one by one; further ones are only counted.
const MAX_WARNINGS: usize = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

/// A tool as the server sent it. Optional fields with a wrong type are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool {
    name: String,
    title: Option<Value>,
    description: Option<Value>,
    input_schema: Box<RawValue>,
    output_schema: Option<Box<RawValue>>,
    annotations: Option<Value>,
}

/// The result of listing a server's tools.
#[derive(Debug, Default)]
pub(crate) struct ToolListing {
    pub tools: Vec<ToolDefinition>,
    pub display_metadata: DisplayMetadataByTool,
    /// Set if the list was cut and the server has more tools.
    pub cut: Option<ListingCut>,
}

/// Why a tool was left out.
#[derive(Debug, Error)]
enum ToolProblem {
    #[error("{source}: {shown}")]
    Unreadable { source: AnswerError, shown: String },
    #[error("its name is empty or too long: {shown}")]
    Name { shown: String },
    #[error("the inputSchema of '{name}' is not an object")]
    InputSchema { name: String },
    #[error("'{name}' was listed twice")]
    Duplicate { name: String },
}

/// A tool and its display metadata, if it has any.
type ParsedTool = (ToolDefinition, Option<ToolDisplayMetadata>);

/// A parsed page, without borrows from the message.
struct ParsedPage {
    tools: Vec<Result<ParsedTool, ToolProblem>>,
    next_cursor: Option<String>,
    bytes: usize,
}

/// Requests all tools of the server. The caller limits the time.
pub(crate) async fn list(peer: &Peer, server: &ServerName) -> Result<ToolListing, StartError> {
    let (limits, user) = (*peer.limits(), peer.user());
    let mut listing = ListingProgress::new(limits);
    let mut cursor: Option<String> = None;
    loop {
        let request = Request::ListTools { cursor: cursor.as_deref() };
        let method = request.method();
        let answer = peer.request(request, None, move |page| read_page(page, &limits)).await;
        let page = answer
            .map_err(|source: RequestError| StartError::Request { method, source })?
            .map_err(|source| StartError::InvalidAnswer { method, source })?;
        match listing.add(page) {
            NextStep::Page(next) => cursor = Some(next),
            NextStep::Done => break,
            NextStep::Stop(limit) => {
                let cut = ListingCut { kept: listing.tools.len(), limit };
                warn!(%server, user, "onecall cuts the server's list of tools: {cut}");
                listing.cut = Some(cut);
                break;
            }
        }
    }
    for problem in &listing.problems {
        warn!(%server, user, "onecall leaves out a tool of the server: {problem}");
    }
    if listing.left_out > listing.problems.len() {
        warn!(
            %server, user,
            "onecall leaves out {} broken tools of the server in all", listing.left_out
        );
    }
    let ListingProgress { mut tools, display_metadata, cut, .. } = listing;
    tools.shrink_to_fit();
    Ok(ToolListing { tools, display_metadata, cut })
}

/// The state of a listing in progress.
#[derive(Default)]
struct ListingProgress {
    limits: ServerLimits,
    tools: Vec<ToolDefinition>,
    display_metadata: DisplayMetadataByTool,
    names: HashSet<ToolName>,
    cursors: HashSet<String>,
    pages: usize,
    bytes: usize,
    left_out: usize,
    problems: Vec<ToolProblem>,
    cut: Option<ListingCut>,
}

#[derive(Debug, PartialEq, Eq)]
enum NextStep {
    Page(String),
    Done,
    Stop(ListingLimit),
}

impl ListingProgress {
    fn new(limits: ServerLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    fn add(&mut self, page: ParsedPage) -> NextStep {
        self.pages += 1;
        self.bytes = self.bytes.saturating_add(page.bytes);
        for tool in page.tools {
            match tool {
                Ok(_) if self.tools.len() == self.limits.max_tools => {
                    return NextStep::Stop(ListingLimit::Tools(self.limits.max_tools));
                }
                Ok((tool, metadata)) if self.names.insert(tool.tool.clone()) => {
                    self.display_metadata
                        .extend(metadata.map(|metadata| (tool.tool.clone(), metadata)));
                    self.tools.push(tool);
                }
                Ok((tool, _)) => {
                    let name = one_line(tool.tool.as_str(), MAX_SHOWN);
                    self.leave_out(ToolProblem::Duplicate { name });
                }
                Err(problem) => self.leave_out(problem),
            }
        }
        // Some servers mark the last page with an empty cursor.
        let Some(cursor) = page.next_cursor.filter(|cursor| !cursor.is_empty()) else {
            return NextStep::Done;
        };
        if !self.cursors.insert(cursor.clone()) {
            return NextStep::Stop(ListingLimit::RepeatedCursor);
        }
        if self.pages >= self.limits.max_pages {
            return NextStep::Stop(ListingLimit::Pages(self.limits.max_pages));
        }
        if self.bytes >= MAX_BYTES {
            return NextStep::Stop(ListingLimit::Bytes(MAX_BYTES));
        }
        NextStep::Page(cursor)
    }

    fn leave_out(&mut self, problem: ToolProblem) {
        self.left_out += 1;
        if self.problems.len() < MAX_WARNINGS {
            self.problems.push(problem);
        }
    }
}

fn read_page(result: &RawValue, limits: &ServerLimits) -> Result<ParsedPage, AnswerError> {
    let page: Page<'_> = AnswerError::read_object(result)?;
    Ok(ParsedPage {
        tools: page
            .tools
            .into_iter()
            .map(|raw| Ok((read_tool(raw, limits)?, ToolDisplayMetadata::read(raw))))
            .collect(),
        next_cursor: page.next_cursor,
        bytes: result.get().len(),
    })
}

fn read_tool(raw: &RawValue, limits: &ServerLimits) -> Result<ToolDefinition, ToolProblem> {
    let shown = || one_line(raw.get(), MAX_SHOWN);
    let entry: ListedTool = AnswerError::read_object(raw)
        .map_err(|source| ToolProblem::Unreadable { source, shown: shown() })?;
    if entry.name.is_empty() || entry.name.len() > MAX_NAME_BYTES {
        return Err(ToolProblem::Name { shown: shown() });
    }
    if !entry.input_schema.get().starts_with('{') {
        return Err(ToolProblem::InputSchema { name: one_line(&entry.name, MAX_SHOWN) });
    }
    let mut annotations: ToolAnnotations = entry
        .annotations
        .and_then(|annotations| serde_json::from_value(annotations).ok())
        .unwrap_or_default();
    annotations.title = annotations.title.or(entry.title.and_then(text));
    Ok(ToolDefinition {
        tool: ToolName::new(entry.name),
        description: entry
            .description
            .and_then(text)
            .map(|text| definition::description(&text, limits)),
        input_schema: definition::schema(&entry.input_schema, limits),
        output_schema: entry
            .output_schema
            .filter(|it| it.get().starts_with('{'))
            .map(|it| definition::schema(&it, limits)),
        annotations,
    })
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(json: &str) -> ParsedPage {
        read_page(&RawValue::from_string(json.to_owned()).unwrap(), &ServerLimits::default())
            .unwrap()
    }

    fn names(listing: &ListingProgress) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.tool.as_str()).collect()
    }

    #[test]
    fn a_tool_is_read_with_all_it_says() {
        let mut listing = ListingProgress::default();
        let next = listing.add(page(
            r#"{"tools":[{"name":"a-b","title":"A","description":"d","inputSchema":{"type":"object",
                "properties":{"z":{},"a":{}}},"outputSchema":{"type":"object"},
                "annotations":{"readOnlyHint":true},"_meta":{}}]}"#,
        ));
        assert_eq!(next, NextStep::Done);
        let [tool] = &*listing.tools else { panic!("one tool") };
        assert_eq!(tool.tool.as_str(), "a-b");
        assert_eq!(tool.description.as_deref(), Some("d"));
        assert_eq!(tool.input_schema.text(), r#"{"type":"object","properties":{"z":{},"a":{}}}"#);
        assert_eq!(tool.output_schema, Some(serde_json::json!({"type": "object"}).into()));
        assert_eq!(
            tool.annotations,
            ToolAnnotations {
                title: Some("A".to_owned()),
                read_only_hint: Some(true),
                ..ToolAnnotations::default()
            }
        );
    }

    #[test]
    fn a_broken_tool_costs_only_itself() {
        let deep = format!("{}{}", "[".repeat(1_000), "]".repeat(1_000));
        let mut listing = ListingProgress::default();
        listing.add(page(&format!(
            r#"{{"tools":[
                {{"name":"first","inputSchema":{{}}}},
                {{"inputSchema":{{}}}}, {{"name":"","inputSchema":{{}}}}, {{"name":5,"inputSchema":{{}}}},
                {{"name":"no schema"}}, {{"name":"text","inputSchema":"x"}}, "tool", ["tool",null,null,{{}}],
                {{"name":"deep","inputSchema":{{"enum":{deep}}}}},
                {{"name":"first","inputSchema":{{"type":"object"}}}},
                {{"name":"last","inputSchema":{{}},"outputSchema":5,"annotations":[],"description":{{}}}}
            ]}}"#
        )));
        assert_eq!(names(&listing), ["first", "deep", "last"]);
        assert_eq!(listing.left_out, 8);
        assert_eq!(listing.problems.len(), MAX_WARNINGS);
    }

    #[test]
    fn pages_follow_each_other_until_a_cursor_repeats() {
        let mut listing = ListingProgress::default();
        let one = r#"{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"x"}"#;
        let two = r#"{"tools":[{"name":"b","inputSchema":{}}],"nextCursor":"x"}"#;
        assert_eq!(listing.add(page(one)), NextStep::Page("x".to_owned()));
        assert_eq!(listing.add(page(two)), NextStep::Stop(ListingLimit::RepeatedCursor));
        assert_eq!(names(&listing), ["a", "b"]);
        assert_eq!(listing.add(page(r#"{"tools":[],"nextCursor":""}"#)), NextStep::Done);
    }

    #[test]
    fn endless_pages_end() {
        let mut listing = ListingProgress::default();
        let mut pages = 0;
        loop {
            pages += 1;
            let next = listing.add(page(&format!(r#"{{"tools":[],"nextCursor":"{pages}"}}"#)));
            if let NextStep::Stop(why) = next {
                let most = ServerLimits::default().max_pages;
                assert_eq!((pages, why), (most, ListingLimit::Pages(most)));
                break;
            }
        }
    }

    #[test]
    fn a_page_without_tools_is_not_valid() {
        for broken in ["{}", "[]", "null", r#"{"tools":{}}"#, r#"{"tools":[],"nextCursor":5}"#] {
            let raw = RawValue::from_string(broken.to_owned()).unwrap();
            assert!(read_page(&raw, &ServerLimits::default()).is_err(), "{broken}");
        }
    }
}
