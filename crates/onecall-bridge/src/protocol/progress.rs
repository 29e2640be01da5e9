//! Progress notifications of servers, matched to the requests they are about.

use std::borrow::Cow;

use onecall_core::text::one_line;
use serde::Deserialize;
use serde_json::Number;
use serde_json::value::RawValue;

/// The longest report that is passed on, in characters.
const MAX_REPORT: usize = 300;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progress<'a> {
    #[serde(borrow)]
    progress_token: &'a RawValue,
    progress: Option<Number>,
    total: Option<Number>,
    #[serde(borrow)]
    message: Option<ProgressText<'a>>,
}

/// A wrapper that lets serde borrow the text; a bare `Cow` inside an `Option` is always copied.
#[derive(Deserialize)]
struct ProgressText<'a>(#[serde(borrow)] Cow<'a, str>);

/// The request that a progress notification is about, and its text for people to read. The progress
/// token of a request is its id.
pub(crate) fn report(params: &RawValue) -> Option<(u64, String)> {
    let json = params.get();
    let progress: Progress<'_> =
        serde_json::from_str(json.starts_with('{').then_some(json)?).ok()?;
    let id = progress.progress_token.get().parse().ok()?;
    let text = match (progress.message, progress.progress, progress.total) {
        (Some(ProgressText(message)), ..) if !message.trim().is_empty() => {
            one_line(&message, MAX_REPORT)
        }
        (_, Some(progress), Some(total)) => format!("{progress} of {total}"),
        (_, Some(progress), None) => progress.to_string(),
        _ => return None,
    };
    Some((id, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reported(params: &str) -> Option<(u64, String)> {
        report(&RawValue::from_string(params.to_owned()).unwrap())
    }

    #[test]
    fn a_report_is_short_and_safe() {
        let say = |text: &str| Some((7, text.to_owned()));
        assert_eq!(
            reported(r#"{"progressToken":7,"progress":1,"message":"a\u001b[31mb"}"#),
            say("ab")
        );
        assert_eq!(reported(r#"{"progressToken":7,"progress":1,"total":3}"#), say("1 of 3"));
        assert_eq!(reported(r#"{"progressToken":7,"progress":0.5,"message":" "}"#), say("0.5"));
        for nonsense in [r#"{"progressToken":"7x","progress":1}"#, r#"{"progress":1}"#, "[7,1]"] {
            assert_eq!(reported(nonsense), None);
        }
    }
}
