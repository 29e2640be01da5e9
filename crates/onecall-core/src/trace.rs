//! The trace that a request is part of, as W3C Trace Context defines it. It is passed on with every
//! request that follows from that one; only tracing systems interpret it.

use std::fmt;

/// The target of every span that may leave this process. Spans with it carry names, numbers
/// and outcomes; never arguments, results, program text or secrets.
pub const SPAN_TARGET: &str = "onecall::trace";

/// The length of a `traceparent` of version 00: version, trace, parent and flags with dashes
/// between them.
const TRACEPARENT_BYTES: usize = 55;

/// The longest `traceparent` accepted. A later version of the specification may append fields.
const MAX_TRACEPARENT_BYTES: usize = 256;

/// The longest `tracestate` accepted: the length that the specification requires to be passed on.
const MAX_TRACESTATE_BYTES: usize = 512;

/// A position in a trace: the identifiers of the trace and of the parent span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    parent: String,
    state: Option<String>,
}

impl TraceContext {
    /// Reads the values of `traceparent` and `tracestate`. A malformed `tracestate` is ignored; a
    /// malformed `traceparent` gives `None`.
    #[must_use]
    pub fn parse(parent: &str, state: Option<&str>) -> Option<Self> {
        if !is_valid_traceparent(parent) {
            return None;
        }
        let state = state.map(|state| state.trim_matches([' ', '\t']));
        let state = state.filter(|state| is_valid_tracestate(state)).map(str::to_owned);
        Some(Self { parent: parent.to_owned(), state })
    }

    /// The position of a span that this process records.
    #[must_use]
    pub fn new(trace: u128, span: u64, flags: u8, state: Option<String>) -> Self {
        let state = state.filter(|state| is_valid_tracestate(state));
        Self { parent: format!("00-{trace:032x}-{span:016x}-{flags:02x}"), state }
    }

    /// The value of `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> &str {
        &self.parent
    }

    /// The value of `tracestate`.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The identifier of the trace: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.parent.get(3..35).unwrap_or_default()
    }

    /// The identifier of the span: 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> &str {
        self.parent.get(36..52).unwrap_or_default()
    }

    /// The trace flags, such as whether the caller records the trace.
    #[must_use]
    pub fn flags(&self) -> u8 {
        let flags = self.parent.get(53..TRACEPARENT_BYTES).unwrap_or_default();
        u8::from_str_radix(flags, 16).unwrap_or_default()
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.parent)
    }
}

fn is_valid_traceparent(text: &str) -> bool {
    let Some((known, rest)) = text.split_at_checked(TRACEPARENT_BYTES) else { return false };
    let parts: Vec<&str> = known.split('-').collect();
    let [version, trace, span, flags] = parts.as_slice() else { return false };
    is_hex(version, 2)
        && *version != "ff"
        && is_hex(trace, 32)
        && has_nonzero_digit(trace)
        && is_hex(span, 16)
        && has_nonzero_digit(span)
        && is_hex(flags, 2)
        && match *version {
            "00" => rest.is_empty(),
            _ => {
                text.len() <= MAX_TRACEPARENT_BYTES
                    && (rest.is_empty() || rest.starts_with('-'))
                    && rest.bytes().all(|byte| byte.is_ascii_graphic())
            }
        }
}

fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether any digit is not zero; identifiers of all zeros are invalid.
fn has_nonzero_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte != b'0')
}

fn is_valid_tracestate(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= MAX_TRACESTATE_BYTES
        && text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_context_is_passed_on_as_it_came() {
        let context = TraceContext::parse(PARENT, Some(" a=1,b=2 "));
        let expected = TraceContext::new(
            0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
            0x00f0_67aa_0ba9_02b7,
            1,
            Some("a=1,b=2".to_owned()),
        );
        assert_eq!(context, Some(expected.clone()));
        assert_eq!(expected.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!((expected.span_id(), expected.flags()), ("00f067aa0ba902b7", 1));
        let later = format!("01{}-more", PARENT.get(2..).unwrap_or_default());
        let later = TraceContext::parse(&later, None).map(|it| it.traceparent().to_owned());
        assert_eq!(later.as_deref(), Some(&*format!("01{}-more", &PARENT[2..])));
    }

    #[test]
    fn what_is_malformed_is_ignored() {
        for parent in [
            "",
            "00",
            &PARENT[..54],
            &format!("{PARENT}0"),
            &format!("{PARENT}-more"),
            &PARENT.to_uppercase(),
            &PARENT.replace("00-", "ff-"),
            &PARENT.replace("00-", "0x-"),
            &PARENT.replace('-', "_"),
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            &format!("01{} \n", &PARENT[2..]),
            &format!("01{}-{}", &PARENT[2..], "x".repeat(300)),
            "é0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",
        ] {
            assert_eq!(TraceContext::parse(parent, None), None, "{parent}");
        }
        for state in ["", " ", "a=\n", "a=é", &"x".repeat(513)] {
            let context = TraceContext::parse(PARENT, Some(state));
            assert_eq!(context.as_ref().and_then(TraceContext::tracestate), None, "{state}");
        }
    }
}
