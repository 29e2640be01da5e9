//! Keeps pages small: a part of a page has as many items as fit into its share of the page, and the beginning
//! of a text that is too long.

use maud::{Markup, PreEscaped};
use onecall_core::text::visible;

/// How much of a page its content may take, in bytes. The rest is for the frame, with style and script.
pub(super) const CONTENT_SIZE: usize = 70_000;

/// How many bytes the other parts of a page leave for its list.
pub(super) fn left_beside(parts: &[&Markup]) -> usize {
    CONTENT_SIZE.saturating_sub(parts.iter().map(|part| part.0.len()).sum())
}

/// Items that were written into a part of a page.
pub(super) struct Filled {
    pub(super) markup: Markup,
    /// How many items were written.
    pub(super) count: usize,
}

/// Writes items until they take `most` bytes of a page. The first item is written in any case, so that a list
/// that goes on elsewhere comes to its end.
pub(super) fn fill<T>(
    items: impl IntoIterator<Item = T>,
    most: usize,
    mut write: impl FnMut(T) -> Markup,
) -> Filled {
    let (mut text, mut count) = (String::new(), 0);
    for item in items {
        let written = write(item).into_string();
        if count > 0 && text.len() + written.len() > most {
            break;
        }
        text.push_str(&written);
        count += 1;
    }
    Filled { markup: PreEscaped(text), count }
}

/// Writes the items that fit into `most` bytes of a page, and those that are needed. The others are left out.
pub(super) fn fill_with_fitting<T>(
    items: impl IntoIterator<Item = T>,
    most: usize,
    is_needed: impl Fn(&T) -> bool,
    mut write: impl FnMut(T) -> Markup,
) -> Filled {
    let (mut text, mut count) = (String::new(), 0);
    for item in items {
        let is_needed = is_needed(&item);
        let written = write(item).into_string();
        if is_needed || text.len() + written.len() <= most {
            text.push_str(&written);
            count += 1;
        }
    }
    Filled { markup: PreEscaped(text), count }
}

/// The beginning of a text.
pub(super) struct Excerpt {
    /// The text, with its invisible characters as codes.
    pub(super) text: String,
    /// Whether the text goes on.
    pub(super) is_cut: bool,
}

/// The beginning of a text that takes at most `most` bytes of a page. Line breaks are kept.
pub(super) fn excerpt(text: &str, most: usize) -> Excerpt {
    // What is longer than this cannot fit, and need not be read.
    let read = text.char_indices().nth(most).and_then(|(end, _)| text.get(..end));
    let shown = visible(read.unwrap_or(text));
    let mut left = most;
    let end = shown.char_indices().find(|(_, symbol)| {
        let fits = left.checked_sub(size(*symbol));
        left = fits.unwrap_or(0);
        fits.is_none()
    });
    let cut = end.and_then(|(end, _)| shown.get(..end));
    let is_cut = cut.is_some() || read.is_some();
    let text = cut.unwrap_or(&shown).to_owned();
    Excerpt { text: if is_cut { format!("{text}…") } else { text }, is_cut }
}

/// How many bytes of a page a character takes, which may have to be escaped.
fn size(symbol: char) -> usize {
    match symbol {
        '&' => "&amp;".len(),
        '<' | '>' => "&lt;".len(),
        '"' => "&quot;".len(),
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;
    use crate::page::layout;

    #[test]
    fn a_part_has_what_fits_and_at_least_one_item() {
        let items = ["<<<<", "b", "c"];
        let filled = |most| {
            let filled = fill(items, most, |item| html! { i { (item) } });
            (filled.markup.into_string(), filled.count)
        };
        assert_eq!(filled(1), ("<i>&lt;&lt;&lt;&lt;</i>".to_owned(), 1));
        assert_eq!(filled(31).1, 2);
        assert_eq!(filled(39).1, 3);
    }

    #[test]
    fn an_item_that_does_not_fit_is_left_out() {
        let filled = |needed| {
            let items = ["a", "<<<<", "b"];
            let filled =
                fill_with_fitting(items, 20, |it| *it == needed, |item| html! { i { (item) } });
            (filled.markup.into_string(), filled.count)
        };
        assert_eq!(filled(""), ("<i>a</i><i>b</i>".to_owned(), 2));
        assert_eq!(filled("<<<<"), ("<i>a</i><i>&lt;&lt;&lt;&lt;</i>".to_owned(), 2));
    }

    #[test]
    fn a_page_has_room_for_its_frame() {
        let style_and_script = html! {
            style { (PreEscaped(layout::STYLE)) } script { (PreEscaped(layout::SCRIPT)) }
        };
        assert!(style_and_script.0.len() + CONTENT_SIZE < 96_000, "{}", style_and_script.0.len());
        assert_eq!(left_beside(&[&html! { "ab" }, &html! { "c" }]), CONTENT_SIZE - 3);
    }

    #[test]
    fn an_excerpt_is_as_long_as_it_is_written() {
        let of = |text: &str, most| {
            let excerpt = excerpt(text, most);
            (excerpt.text, excerpt.is_cut)
        };
        assert_eq!(of("a<b", 6), ("a<b".to_owned(), false));
        assert_eq!(of("a<b", 5), ("a<…".to_owned(), true));
        assert_eq!(of("äöü", 4), ("äö…".to_owned(), true));
        assert_eq!(of("a\u{200b}", 99), ("a\\u{200b}".to_owned(), false));
        assert_eq!(of("", 0), (String::new(), false));
    }
}
