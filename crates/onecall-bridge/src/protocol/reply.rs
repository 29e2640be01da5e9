//! The result of a request, parsed in place. It also preserves `NaN` and infinities, which some
//! servers write although JSON does not have them.

use std::borrow::Cow;

use onecall_core::{ToolValue, replace_nonfinite};
use serde_json::value::RawValue;

/// The result of a request. If the server wrote `NaN` or an infinity, which JSON does not have, the
/// result has placeholder numbers in their place, and the original text is kept.
#[derive(Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub result: &'a RawValue,
    original: Option<Original<'a>>,
}

/// A message that is JSON except for `NaN` and infinities, together with a copy in which they are
/// replaced by ordinary numbers of the same length. Equal offsets in both texts mean the same part.
#[derive(Clone, Copy)]
pub(crate) struct Original<'a> {
    written: &'a str,
    repaired: &'a str,
}

/// Replaces `NaN` and infinities in a message; `None` if it has none.
pub(crate) fn repaired(written: &[u8]) -> Option<String> {
    replace_nonfinite(str::from_utf8(written).ok()?, |token| match token {
        "NaN" => "100",
        "Infinity" => "10000000",
        _ => "-10000000",
    })
}

impl<'a> Original<'a> {
    /// Pairs the text `written` with `repaired`, the result of [`repaired`] for it.
    pub fn new(written: &'a [u8], repaired: &'a str) -> Option<Self> {
        Some(Self { written: str::from_utf8(written).ok()?, repaired })
    }
}

impl<'a> Reply<'a> {
    /// Wraps a result. If there is an original, `result` must be a part of the repaired message.
    pub fn new(result: &'a RawValue, original: Option<Original<'a>>) -> Self {
        Self { result, original }
    }

    /// The original text of `part`, if it contains `NaN` or an infinity.
    pub fn nonfinite(&self, part: &RawValue) -> Option<&'a str> {
        let Original { written, repaired } = self.original?;
        let (text, all) = (part.get(), repaired.as_ptr());
        let start = text.as_ptr().addr().checked_sub(all.addr())?;
        let written = written.get(start..start.checked_add(text.len())?)?;
        (written != text).then_some(written)
    }

    /// `part` of the result as a value for programs.
    pub fn value(&self, part: &RawValue) -> ToolValue {
        match self.nonfinite(part) {
            None => ToolValue::Json(part.to_owned()),
            // The program parses the text itself, and accepts these numbers.
            Some(written) => ToolValue::Text(written.to_owned()),
        }
    }

    /// `part` of the result as JSON, with `null` in place of each number that JSON does not have.
    pub fn json<'b>(&self, part: &'b RawValue) -> Cow<'b, RawValue> {
        let with_null = self.nonfinite(part).and_then(|it| replace_nonfinite(it, |_| "null"));
        match with_null.and_then(|json| RawValue::from_string(json).ok()) {
            Some(json) => Cow::Owned(json),
            None => Cow::Borrowed(part),
        }
    }
}
