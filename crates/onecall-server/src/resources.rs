//! The tools that programs may call as MCP resources, for clients that prefer to browse:
//! `onecall://servers`, `onecall://servers/<server>`, and a file for each tool in each language.

use std::fmt::Write;
use std::sync::Arc;

use onecall_catalog::{ToolFile, summary, tool_file_location};
use onecall_core::ToolSpec;
use onecall_gateway::{Gateway, ToolTree};
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompletionInfo, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceResult, Reference, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

const INDEX_URI: &str = "onecall://servers";
const TEXT_PLAIN: &str = "text/plain";

/// How many servers or tools are on one page of the list.
const PAGE_SIZE: usize = 100;

/// How many tools the text of one server lists.
const MAX_TOOLS_LISTED: usize = 1_000;

/// Characters of a description that are shown.
const SUMMARY_WIDTH: usize = 100;

/// What a URI refers to.
#[derive(Debug, PartialEq, Eq)]
enum ResourceUri<'a> {
    Index,
    Server(&'a str),
    Tool { folder: &'a str, stem: &'a str, file: ToolFile },
}

impl<'a> ResourceUri<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        let rest = uri.strip_prefix(INDEX_URI)?;
        let Some(path) = rest.strip_prefix('/').filter(|path| !path.is_empty()) else {
            return (rest.is_empty() || rest == "/").then_some(Self::Index);
        };
        let Some((folder, name)) = path.trim_end_matches('/').split_once('/') else {
            return Some(Self::Server(path.trim_end_matches('/')));
        };
        let file = |file: &ToolFile| Some((*file, name.strip_suffix(file.extension())?));
        let (file, stem) = ToolFile::ALL.iter().find_map(file)?;
        Some(Self::Tool { folder, stem, file })
    }
}

/// Whether a URI is one of onecall's own, whether or not there is such a resource.
pub(crate) fn is_own(uri: &str) -> bool {
    uri.starts_with(INDEX_URI)
}

fn server_uri(folder: &str) -> String {
    format!("{INDEX_URI}/{folder}")
}

fn tool_uri(folder: &str, stem: &str, file: ToolFile) -> String {
    format!("{INDEX_URI}/{folder}/{stem}{}", file.extension())
}

fn mime_type(file: ToolFile) -> &'static str {
    match file {
        ToolFile::Python => "text/x-python",
        ToolFile::TypeScript => "text/x-typescript",
    }
}

/// One page of the list of resources: the index, the servers, then the files of all tools. A cursor
/// is the last server or tool of the previous page.
pub(crate) async fn list(
    gateway: &Gateway,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let tree = gateway.tree().await;
    let folders = tree.folders();
    let (folder_seen, tool_seen) = match cursor.map(|it| it.split_once(' ')) {
        None => (None, None),
        Some(Some(("server", name))) => (Some(name), None),
        Some(Some(("tool", name))) => (folders.keys().last().map(String::as_str), Some(name)),
        Some(_) => {
            return Err(ErrorData::invalid_params(
                "this cursor is not valid; list again without a cursor",
                None,
            ));
        }
    };
    let mut page = Vec::new();
    if cursor.is_none() {
        let index = Resource::new(INDEX_URI, "servers").with_mime_type(TEXT_PLAIN);
        page.push(index.with_description("The servers whose tools programs can call."));
    }
    let mut room = PAGE_SIZE;
    let mut last = None;
    let unseen = folders.iter().filter(|(name, _)| folder_seen.is_none_or(|it| name.as_str() > it));
    for (folder, count) in unseen.take(room) {
        room -= 1;
        last = Some(format!("server {folder}"));
        let about = format!("The tools of this server: {count}");
        let server = Resource::new(server_uri(folder), folder.as_str()).with_mime_type(TEXT_PLAIN);
        page.push(server.with_description(about));
    }
    let unseen = tree.tools().filter(|it| tool_seen.is_none_or(|seen| it.callable.as_str() > seen));
    for spec in unseen.take(room) {
        room -= 1;
        last = Some(format!("tool {}", spec.callable));
        page.extend(files_of(spec));
    }
    let mut result = ListResourcesResult::with_all_items(page);
    // A full page may be the last one; an empty page follows it then.
    result.next_cursor = last.filter(|_| room == 0);
    Ok(result)
}

fn files_of(spec: &Arc<ToolSpec>) -> Vec<Resource> {
    let Some((folder, stem)) = tool_file_location(spec) else { return Vec::new() };
    let about = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
    let file = |file: ToolFile| {
        let name = format!("{folder}/{stem}{}", file.extension());
        let resource = Resource::new(tool_uri(&folder, stem, file), name);
        let resource = resource.with_mime_type(mime_type(file));
        if about.is_empty() { resource } else { resource.with_description(about.clone()) }
    };
    ToolFile::ALL.map(file).into()
}

/// The templates of resource URIs.
pub(crate) fn templates() -> ListResourceTemplatesResult {
    let template = |path: &str, name: &str, about: &str| {
        ResourceTemplate::new(format!("{INDEX_URI}/{path}"), name).with_description(about)
    };
    let server =
        template("{server}", "server", "The tools of one server.").with_mime_type(TEXT_PLAIN);
    let files = ToolFile::ALL.map(|file| {
        let (path, about) = match file {
            ToolFile::Python => ("{server}/{tool}.pyi", "How to call a tool in Python."),
            ToolFile::TypeScript => ("{server}/{tool}.ts", "How to call a tool in TypeScript."),
        };
        let name = format!("tool{}", file.extension());
        template(path, &name, about).with_mime_type(mime_type(file))
    });
    ListResourceTemplatesResult::with_all_items([vec![server], files.into()].concat())
}

/// Reads the resource with this URI.
pub(crate) async fn read(gateway: &Gateway, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let Some(address) = ResourceUri::parse(uri) else {
        return Err(not_found(uri, Some(INDEX_URI.to_owned())));
    };
    let (text, kind) = match address {
        ResourceUri::Index => (index_text(&gateway.tree().await, &gateway.folders()), TEXT_PLAIN),
        ResourceUri::Server(folder) => {
            let tree = gateway.tree_with(folder).await;
            match server_text(&tree, folder) {
                Some(text) => (text, TEXT_PLAIN),
                None => {
                    let near = tree.nearest_folder(folder).map(|near| server_uri(&near));
                    return Err(not_found(uri, near));
                }
            }
        }
        ResourceUri::Tool { folder, stem, file } => {
            let tree = gateway.tree_with(folder).await;
            match tree.tool(folder, stem) {
                Some(spec) => (file.text(spec, gateway.observed(spec).as_ref()), mime_type(file)),
                None => {
                    let near = tree.nearest(folder, stem);
                    let near = near.map(|(folder, stem)| tool_uri(&folder, &stem, file));
                    return Err(not_found(uri, near));
                }
            }
        }
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(kind);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The error for a URI that no resource has.
pub(crate) fn not_found(uri: &str, nearest: Option<String>) -> ErrorData {
    let uri: String = uri.chars().take(500).collect();
    let hint = nearest.map(|near| format!(". Did you mean '{near}'?")).unwrap_or_default();
    let message = format!("there is no resource '{uri}'{hint}");
    ErrorData::resource_not_found(message, Some(json!({ "uri": uri })))
}

fn index_text(tree: &ToolTree, all: &[String]) -> String {
    let folders = tree.folders();
    let mut text = String::new();
    for (folder, count) in &folders {
        let noun = if *count == 1 { "tool" } else { "tools" };
        // Writing to a String cannot fail.
        _ = writeln!(text, "{}: {count} {noun}", server_uri(folder));
    }
    for folder in all.iter().filter(|folder| !folders.contains_key(*folder)) {
        _ = writeln!(text, "{}: no tools are known yet", server_uri(folder));
    }
    text
}

fn server_text(tree: &ToolTree, folder: &str) -> Option<String> {
    let mut text = String::new();
    let mut tools = tree.tools_in(folder);
    for spec in tools.by_ref().take(MAX_TOOLS_LISTED) {
        let (folder, stem) = tool_file_location(spec)?;
        let about = summary(spec.description.as_deref().unwrap_or_default(), SUMMARY_WIDTH);
        let line = format!("{}: {about}", tool_uri(&folder, stem, ToolFile::Python));
        _ = writeln!(text, "{}", line.trim_end_matches([':', ' ']));
    }
    match tools.count() {
        0 => {}
        more => _ = writeln!(text, "and {more} more: use search_tools"),
    }
    (!text.is_empty()).then_some(text)
}

/// Completions for an argument of a template.
pub(crate) async fn complete(gateway: &Gateway, request: &CompleteRequestParams) -> CompletionInfo {
    let known = matches!(&request.r#ref, Reference::Resource(it) if it.uri.starts_with(INDEX_URI));
    let typed = request.argument.value.as_str();
    let server = request.context.as_ref().and_then(|it| it.arguments.as_ref()?.get("server"));
    let values = match request.argument.name.as_str() {
        "server" if known => gateway.folders(),
        "tool" if known => {
            let tree = match server {
                Some(folder) => gateway.tree_with(folder).await,
                None => gateway.tree().await,
            };
            let places = tree.tools().filter_map(|spec| tool_file_location(spec));
            let meant = places.filter(|(folder, _)| server.is_none_or(|it| it == folder));
            meant.map(|(_, stem)| stem.to_owned()).collect()
        }
        _ => Vec::new(),
    };
    let mut values: Vec<String> = values.into_iter().filter(|it| it.starts_with(typed)).collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut completion = CompletionInfo::new(values).unwrap_or_default();
    completion.has_more = Some(total > CompletionInfo::MAX_VALUES);
    completion.total = u32::try_from(total).ok();
    completion
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_leniently_and_nothing_else_is() {
        let tool = |file| Some(ResourceUri::Tool { folder: "a", stem: "b", file });
        for (uri, expected) in [
            ("onecall://servers", Some(ResourceUri::Index)),
            ("onecall://servers/", Some(ResourceUri::Index)),
            ("onecall://servers/a", Some(ResourceUri::Server("a"))),
            ("onecall://servers/a/", Some(ResourceUri::Server("a"))),
            ("onecall://servers/a/b.pyi", tool(ToolFile::Python)),
            ("onecall://servers/a/b.ts", tool(ToolFile::TypeScript)),
            ("onecall://servers/a/b.js", None),
            ("onecall://serversx", None),
            ("file:///etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(ResourceUri::parse(uri), expected, "{uri}");
        }
    }
}
