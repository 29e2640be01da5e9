//! What servers have besides tools: resources and prompts, listed page by page and read.
//! Whatever a server sends, a list ends and stays within bounds.

use std::collections::HashSet;

use onecall_config::ServerLimits;
use onecall_core::{ListKind, ResolvedCall, ServerName, ToolValue};
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::Bridge;
use crate::protocol::behalf::Behalf;
use crate::protocol::input::InputRequired;
use crate::protocol::request::Request;

/// All pages of a list together.
const MAX_BYTES: usize = 64 * 1024 * 1024;

impl Bridge {
    /// Everything that a server lists; nothing if it knows no such things. An error is
    /// what a program reads.
    pub async fn list(
        &self,
        server: &ServerName,
        shelf: ListKind,
        call: &ResolvedCall,
    ) -> Result<Vec<Map<String, Value>>, String> {
        let behalf = Behalf::of(&call.name, call.run.caller.as_ref());
        let server = self.server(server).ok_or("there is no such server")?;
        let mut listing = Listing::new(self.setting().limits);
        let pages = async {
            let mut cursor: Option<String> = None;
            loop {
                let request =
                    Request::List { shelf, cursor: cursor.as_deref(), behalf: behalf.as_ref() };
                let Some(page) = server.offered(request, read_page).await? else { return Ok(()) };
                match listing.add(page?, shelf)? {
                    Some(next) => cursor = Some(next),
                    None => return Ok(()),
                }
            }
        };
        server.in_time(pages).await?;
        Ok(listing.entries)
    }

    /// What a resource holds. An error is what a program reads.
    pub async fn read_resource(
        &self,
        server: &ServerName,
        uri: &str,
        call: &ResolvedCall,
    ) -> Result<ToolValue, String> {
        let behalf = Behalf::of(&call.name, call.run.caller.as_ref());
        let server = self.server(server).ok_or("there is no such server")?;
        let request = Request::ReadResource { uri, behalf: behalf.as_ref() };
        let read = server.offered(request, resource_value).await?;
        self.small_enough(read.unwrap_or_else(|| Err("the server has no resources".to_owned()))?)
    }

    /// The messages of a prompt. An error is what a program reads.
    pub async fn get_prompt(
        &self,
        server: &ServerName,
        name: &str,
        arguments: Option<&RawValue>,
        call: &ResolvedCall,
    ) -> Result<ToolValue, String> {
        let behalf = Behalf::of(&call.name, call.run.caller.as_ref());
        let server = self.server(server).ok_or("there is no such server")?;
        let request = Request::GetPrompt { name, arguments, behalf: behalf.as_ref() };
        let got = server.offered(request, prompt_value).await?;
        self.small_enough(got.unwrap_or_else(|| Err("the server has no prompts".to_owned()))?)
    }

    fn small_enough(&self, value: ToolValue) -> Result<ToolValue, String> {
        let limit = self.setting().limits.max_result_bytes;
        match &value {
            ToolValue::Json(json) if json.get().len() > limit => {
                Err(format!("the answer is larger than {} MiB", limit / (1024 * 1024)))
            }
            _ => Ok(value),
        }
    }
}

/// A page as it leaves the reader.
struct Page {
    fields: Map<String, Value>,
    bytes: usize,
}

fn read_page(result: &RawValue) -> Result<Page, String> {
    let fields = serde_json::from_str(result.get())
        .map_err(|error| format!("the list is not valid: {error}"))?;
    Ok(Page { fields, bytes: result.get().len() })
}

/// What has been listed so far.
struct Listing {
    limits: ServerLimits,
    entries: Vec<Map<String, Value>>,
    cursors: HashSet<String>,
    bytes: usize,
}

impl Listing {
    fn new(limits: ServerLimits) -> Self {
        Self { limits, entries: Vec::new(), cursors: HashSet::new(), bytes: 0 }
    }

    /// Where the list goes on, if it does.
    fn add(&mut self, mut page: Page, shelf: ListKind) -> Result<Option<String>, String> {
        let Some(Value::Array(entries)) = page.fields.remove(shelf.key()) else {
            return Err(format!("the list is not valid: it has no '{}'", shelf.key()));
        };
        // What is no object is nothing that could be asked for.
        self.entries.extend(entries.into_iter().filter_map(|entry| match entry {
            Value::Object(entry) => Some(entry),
            _ => None,
        }));
        self.bytes = self.bytes.saturating_add(page.bytes);
        let cursor = match page.fields.remove("nextCursor") {
            Some(Value::String(cursor)) if !cursor.is_empty() => cursor,
            _ => return Ok(None),
        };
        let too_many = self.entries.len() > self.limits.max_tools || self.bytes > MAX_BYTES;
        if too_many || self.cursors.len() + 1 >= self.limits.max_pages {
            return Err("the list has no end; limits in the configuration says when".to_owned());
        }
        if !self.cursors.insert(cursor.clone()) {
            return Err("the list has no end: the server repeats itself".to_owned());
        }
        Ok(Some(cursor))
    }
}

#[derive(Deserialize)]
struct Contents {
    contents: Vec<Map<String, Value>>,
}

/// Text is text; everything else is the dicts that the server sent.
fn resource_value(result: &RawValue) -> Result<ToolValue, String> {
    let Contents { mut contents } = read(result)?;
    let value = match contents.as_mut_slice() {
        [] => return Ok(ToolValue::Nothing),
        [one] => match one.get_mut("text").map(Value::take) {
            Some(Value::String(text)) => Value::String(text),
            _ => Value::Object(std::mem::take(one)),
        },
        _ => contents.into_iter().map(Value::Object).collect(),
    };
    to_raw_value(&value).map(ToolValue::Json).map_err(|error| error.to_string())
}

fn prompt_value(result: &RawValue) -> Result<ToolValue, String> {
    let mut prompt: Map<String, Value> = read(result)?;
    prompt.remove("_meta");
    prompt.remove("resultType");
    to_raw_value(&prompt).map(ToolValue::Json).map_err(|error| error.to_string())
}

fn read<'a, T: Deserialize<'a>>(result: &'a RawValue) -> Result<T, String> {
    if InputRequired::read(result).is_some() {
        return Err("the server asks for more input, which only tools are given".to_owned());
    }
    if !result.get().starts_with('{') {
        return Err("the server sent a result that is no object".to_owned());
    }
    serde_json::from_str(result.get())
        .map_err(|error| format!("the server sent a result that is not valid: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(result: &str) -> String {
        match resource_value(&RawValue::from_string(result.to_owned()).unwrap()) {
            Ok(ToolValue::Json(json)) => json.get().to_owned(),
            Ok(other) => format!("{other:?}"),
            Err(error) => error,
        }
    }

    #[test]
    fn a_resource_is_text_or_what_the_server_sent() {
        assert_eq!(value(r#"{"contents":[{"uri":"a:b","text":"[1]"}]}"#), r#""[1]""#);
        let blob = r#"{"uri":"a:b","mimeType":"image/png","blob":"AAAA"}"#;
        assert_eq!(value(&format!(r#"{{"contents":[{blob}]}}"#)), blob);
        assert_eq!(
            value(&format!(r#"{{"contents":[{blob},{blob}]}}"#)),
            format!("[{blob},{blob}]")
        );
        assert_eq!(value(r#"{"contents":[]}"#), "Nothing");
        assert_eq!(value("[[]]"), "the server sent a result that is no object");
    }

    #[test]
    fn a_list_without_end_ends() {
        let limits = ServerLimits { max_pages: 3, ..ServerLimits::default() };
        let page = |cursor: &str| {
            let json = format!(r#"{{"prompts":[{{"name":"a"}},5],"nextCursor":"{cursor}"}}"#);
            read_page(&RawValue::from_string(json).unwrap()).unwrap()
        };
        let mut listing = Listing::new(limits);
        assert_eq!(listing.add(page("1"), ListKind::Prompts), Ok(Some("1".to_owned())));
        assert!(listing.add(page("1"), ListKind::Prompts).is_err());
        assert_eq!(listing.add(page("2"), ListKind::Prompts), Ok(Some("2".to_owned())));
        assert!(listing.add(page("3"), ListKind::Prompts).is_err());
        assert_eq!(listing.add(page(""), ListKind::Prompts), Ok(None));
        assert!(listing.add(page(""), ListKind::Resources).is_err());
        assert_eq!(listing.entries.len(), 5);
    }
}
