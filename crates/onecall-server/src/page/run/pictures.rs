//! The pictures of a run: those that its program showed, and those in the answers to its calls. Only pictures
//! whose first bytes say so are shown, and each is a request of its own.

use maud::{Markup, html};
use onecall_core::Picture;
use onecall_core::storage::{RunDetail, RunRecord, StoredCall};
use serde_json::Value;

use super::calls::Extent;
use crate::page::error::PageError;
use crate::page::reply::PageAnswer;

/// How many pictures of one answer are shown.
const MAX_PICTURES: usize = 8;

/// How deep in an answer pictures are looked for.
const MAX_DEPTH: usize = 8;

/// The pictures that the program showed.
pub(super) fn section(record: &RunRecord, extent: Extent) -> Markup {
    let run = &record.run;
    html! {
        @if run.detail == RunDetail::Full && !record.pictures.is_empty() {
            section aria-labelledby="pictures-title" {
                h2 #pictures-title { "Pictures " span.muted { (record.pictures.len()) } }
                @for (index, picture) in record.pictures.iter().enumerate() {
                    @let alt = format!("Picture {} that the program showed", index + 1);
                    @match (picture, extent) {
                        (None, _) => p.muted { "Picture " (index + 1) " was not kept: it is too large, or contains a secret." },
                        (Some(_), Extent::Page) => img.picture loading="lazy" alt=(alt) src={ "/page/runs/" (run.id) "/pictures/" (index) };,
                        (Some(picture), Extent::File) => img.picture alt=(alt) src=(picture.data_url());,
                    }
                }
            }
        }
    }
}

/// The pictures in the answer to the call with this number.
pub(super) fn of_answer(run: &str, number: usize, call: &StoredCall) -> Markup {
    html! {
        @for index in 0..of_call(call).len() {
            img.picture loading="lazy" alt="A picture in the answer" src={ (run) "/calls/" (number) "/pictures/" (index) };
        }
    }
}

/// The pictures in the recorded answer to a call.
pub(super) fn of_call(call: &StoredCall) -> Vec<Picture> {
    let mut found = Vec::new();
    let answer = call.result.as_ref().and_then(|(_, text)| serde_json::from_str(text).ok());
    if let Some(answer) = answer {
        find(&answer, 0, &mut found);
    }
    found
}

fn find(value: &Value, depth: usize, found: &mut Vec<Picture>) {
    if depth > MAX_DEPTH || found.len() >= MAX_PICTURES {
        return;
    }
    match value {
        Value::Array(items) => items.iter().for_each(|item| find(item, depth + 1, found)),
        Value::Object(fields) if fields.get("type").and_then(Value::as_str) == Some("image") => {
            let data = fields.get("data").and_then(Value::as_str);
            found.extend(data.and_then(|data| Picture::parse(data.to_owned())));
        }
        Value::Object(fields) => fields.values().for_each(|field| find(field, depth + 1, found)),
        _ => {}
    }
}

/// Answers with the picture that has this number, which counts from 0.
pub(super) fn answer<'a>(
    mut pictures: impl Iterator<Item = Option<&'a Picture>>,
    number: &str,
) -> Result<PageAnswer, PageError> {
    let number = number.parse().map_err(|_| PageError::NotFound)?;
    let found = pictures.nth(number).flatten().ok_or(PageError::NotFound)?;
    Ok(PageAnswer::Picture(found.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_found_by_their_bytes() {
        let png = "iVBORw0KGgo=";
        let answer = serde_json::json!([
            { "type": "image", "mimeType": "text/html", "data": png },
            { "type": "image", "mimeType": "image/png", "data": "PHN2Zz4=" },
            { "deep": [{ "type": "image", "data": png }] },
            { "type": "text", "data": png },
        ]);
        let mut found = Vec::new();
        find(&answer, 0, &mut found);
        assert_eq!(found.iter().map(Picture::data).collect::<Vec<_>>(), [png, png]);
    }
}
