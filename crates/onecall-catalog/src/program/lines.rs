//! The lines of a program's source, and findings at places in it.

use onecall_core::Language;

use super::Finding;

/// The longest source line that is shown, in characters.
const MAX_LINE: usize = 200;

/// The lines of a source, which a line feed, a carriage return or both end.
pub(super) struct SourceLines<'a> {
    source: &'a str,
    starts: &'a [usize],
    language: Language,
}

/// The offset of each line of a source.
pub(super) fn line_starts(source: &str) -> Vec<usize> {
    let bytes = source.as_bytes();
    let ends = bytes.iter().enumerate().filter(|(at, byte)| match byte {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    });
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

impl<'a> SourceLines<'a> {
    /// The lines of a source in `language`; `starts` comes from [`line_starts`].
    pub(super) fn new(source: &'a str, starts: &'a [usize], language: Language) -> Self {
        Self { source, starts, language }
    }

    /// The number of the line of an offset, from 1.
    pub(super) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// A finding at an offset.
    pub(super) fn finding(&self, offset: usize, kind: &'static str, message: String) -> Finding {
        let line = self.number(offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = self.source.get(start..offset).unwrap_or_default();
        let column = before.encode_utf16().count() + 1;
        let rest = self.source.get(start..).unwrap_or_default();
        let text = rest.split(['\n', '\r']).next().unwrap_or_default().trim();
        let source_line = match text.char_indices().nth(MAX_LINE) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text.to_owned(),
        };
        let language = self.language;
        Finding { language, line, column, source_line, kind, message, signature: None }
    }
}
