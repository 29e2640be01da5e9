//! The result of a request, as it is read in place.

use std::borrow::Cow;

use onecall_core::{ToolValue, replace_nonfinite};
use serde_json::value::RawValue;

/// The result of a request. A server may have written NaN or an infinity into it, which JSON does
/// not have; then the result has other numbers in their places, and the original is kept.
#[derive(Clone, Copy)]
pub(crate) struct Reply<'a> {
    pub result: &'a RawValue,
    original: Option<Original<'a>>,
}

/// A message that is JSON but for NaN and infinities, beside the same with ordinary numbers of the
/// same lengths, so that what is at some place in one is at the same place in the other.
#[derive(Clone, Copy)]
pub(crate) struct Original<'a> {
    written: &'a str,
    repaired: &'a str,
}

/// A message without NaN and infinities; `None` if it has none.
pub(crate) fn repaired(written: &[u8]) -> Option<String> {
    replace_nonfinite(str::from_utf8(written).ok()?, |token| match token {
        "NaN" => "100",
        "Infinity" => "10000000",
        _ => "-10000000",
    })
}

impl<'a> Original<'a> {
    /// `repaired` is what [`repaired`] made of `written`.
    pub fn new(written: &'a [u8], repaired: &'a str) -> Option<Self> {
        Some(Self { written: str::from_utf8(written).ok()?, repaired })
    }
}

impl<'a> Reply<'a> {
    /// `result` is a part of the repaired message, if there is an original.
    pub fn new(result: &'a RawValue, original: Option<Original<'a>>) -> Self {
        Self { result, original }
    }

    /// What the server wrote for `part` of the result, if there is NaN or an infinity in it.
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
            // A program reads it as the JSON that it nearly is.
            Some(written) => ToolValue::Text(written.to_owned()),
        }
    }

    /// `part` of the result as JSON, with `null` for each number that JSON does not have.
    pub fn json<'b>(&self, part: &'b RawValue) -> Cow<'b, RawValue> {
        let with_null = self.nonfinite(part).and_then(|it| replace_nonfinite(it, |_| "null"));
        match with_null.and_then(|json| RawValue::from_string(json).ok()) {
            Some(json) => Cow::Owned(json),
            None => Cow::Borrowed(part),
        }
    }
}
