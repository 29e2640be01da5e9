//! One call of a run: its arguments and its answer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use onecall_core::storage::{RunRecord, StoredCall};
use serde_json::Value;

use super::call_lines;
use super::calls::{Decisions, result};
use crate::page::context::PageContext;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;
use crate::page::text;

/// The longest value that a page shows, in characters.
const MAX_VALUE: usize = 20_000;

/// The largest picture that a page shows, in bytes of base64, and how many pictures.
const MAX_PICTURE: usize = 60_000;
const MAX_PICTURES: usize = 4;

/// The formats of pictures that are shown, by their first bytes. What a server says about the format does
/// not count, and formats that can contain a script are not among them.
const PICTURES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

pub(super) fn page(
    context: &PageContext,
    record: &RunRecord,
    number: usize,
) -> Result<PageAnswer, PageError> {
    let index = number.checked_sub(1).ok_or(PageError::NotFound)?;
    let call = record.calls.get(index).ok_or(PageError::NotFound)?;
    let decisions = Decisions::read(context, record)?;
    let line = call_lines::of(record).lines.get(index).copied().flatten();
    let run = format!("/page/runs/{}", record.run.id);
    let body = html! {
        nav.tools aria-label="This call" {
            a href=(run) { "Run " (record.run.id) }
            @if index > 0 { a href={ (run) "/calls/" (index) } rel="prev" { "Call before" } }
            @if number < record.calls.len() { a href={ (run) "/calls/" (number + 1) } rel="next" { "Next call" } }
        }
        dl.facts {
            div { dt { "Tool" } dd { a href={ "/page/tools/" (crate::page::fields::segment(&call.name)) } { (text::line(&call.name, 120)) } } }
            div { dt { "Server" } dd { (text::line(&call.server, 80)) } }
            @if let Some(line) = line { div { dt { "Line" } dd { a href={ (run) "#line-" (line) } { (line) } } } }
            div { dt { "Began after" } dd { (text::span(call.started)) } }
            div { dt { "Time" } dd { @match call.duration { Some(span) => (text::span(span)), None => "cut off when the run ended" } } }
            div { dt { "Result" } dd { (result(call, decisions.of(index)))
                @if call.error.is_none() && !call.cached && call.duration.is_some() { " answered" } } }
        }
        @if let Some(error) = &call.error { div.problem { pre { (text::block(error, MAX_VALUE)) } } }
        section { h2 { "Arguments " span.muted { (text::bytes(call.arguments_bytes)) } }
            (value(call.arguments.as_deref())) }
        section { h2 { "Answer " span.muted { (text::bytes(call.result_bytes)) } }
            (pictures(call))
            (value(call.result.as_ref().map(|(_, text)| text.as_str()))) }
    };
    Ok(PageAnswer::page(format!("Call {number}"), body))
}

/// A recorded value, as indented JSON if it is JSON.
fn value(recorded: Option<&str>) -> Markup {
    html! {
        @match recorded {
            None => p.muted { "Not recorded. With " code { "records: full" } " in the configuration, later runs keep it." },
            Some(recorded) => pre.output tabindex="0" { (text::block(&pretty(recorded), MAX_VALUE)) },
        }
    }
}

/// Indented JSON, or the text as it is.
pub(in crate::page) fn pretty(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => format!("{value:#}"),
        Ok(_) | Err(_) => text.to_owned(),
    }
}

/// The pictures in an answer.
fn pictures(call: &StoredCall) -> Markup {
    let Some((_, recorded)) = &call.result else { return html! {} };
    let Ok(answer) = serde_json::from_str::<Value>(recorded) else { return html! {} };
    let mut found = Vec::new();
    find_pictures(&answer, 0, &mut found);
    html! {
        @for (kind, data) in found {
            img.picture alt="A picture in the answer" src={ "data:" (kind) ";base64," (data) };
        }
    }
}

fn find_pictures<'a>(value: &'a Value, depth: usize, found: &mut Vec<(&'static str, &'a str)>) {
    if depth > 8 || found.len() >= MAX_PICTURES {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| find_pictures(item, depth + 1, found)),
        Value::Object(fields) => {
            let data = fields.get("data").and_then(Value::as_str);
            if fields.get("type").and_then(Value::as_str) == Some("image") {
                found.extend(data.and_then(|data| Some((picture_format(data)?, data))));
            } else {
                fields.values().for_each(|field| find_pictures(field, depth + 1, found));
            }
        }
        _ => {}
    }
}

/// The format of a picture in base64, if it is one that is shown.
fn picture_format(data: &str) -> Option<&'static str> {
    if data.len() > MAX_PICTURE {
        return None;
    }
    let bytes = STANDARD.decode(data).ok()?;
    PICTURES.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, format)| *format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_of_a_picture_are_one() {
        let png = STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        assert_eq!(picture_format(&png), Some("image/png"));
        assert_eq!(picture_format(&STANDARD.encode("<svg onload=alert(1)>")), None);
        assert_eq!(picture_format("\"><script>"), None);
        let answer = serde_json::json!([{ "type": "image", "mimeType": "text/html", "data": png }]);
        let mut found = Vec::new();
        find_pictures(&answer, 0, &mut found);
        assert_eq!(found, [("image/png", png.as_str())]);
    }
}
