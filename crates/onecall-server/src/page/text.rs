//! Writes times, sizes and foreign text. Whatever a server, a program or a model wrote goes through
//! [`line`] or [`block`]: they show invisible characters as codes, and the templates escape markup.

use std::time::Duration;

use maud::{Markup, html};
use onecall_core::Timestamp;
use onecall_core::text::{visible, visible_line};

/// The text with each invisible character as its code, in one line of at most `most` characters.
pub(super) fn line(text: &str, most: usize) -> String {
    cut(&visible_line(text), most)
}

/// The text with each invisible character as its code. Line breaks are kept.
pub(super) fn block(text: &str, most: usize) -> String {
    cut(&visible(text), most)
}

/// The first `most` characters of a text; `…` says that there were more.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// A moment. The script of the page shows it in the reader's time zone.
pub(super) fn time(moment: Timestamp) -> Markup {
    let whole = moment.with_milliseconds();
    let shown: String = whole.chars().take(19).map(|it| if it == 'T' { ' ' } else { it }).collect();
    html! { time datetime=(whole) { (shown) " UTC" } }
}

/// A span of time with two or three digits.
pub(super) fn span(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..10_000 => format!("{:.1} ms", span.as_secs_f64() * 1e3),
        10_000..1_000_000 => format!("{} ms", span.as_millis()),
        1_000_000..60_000_000 => format!("{:.1} s", span.as_secs_f64()),
        60_000_000..3_600_000_000 => {
            format!("{} min {} s", span.as_secs() / 60, span.as_secs() % 60)
        }
        3_600_000_000..172_800_000_000 => {
            format!("{} h {} min", span.as_secs() / 3_600, span.as_secs() / 60 % 60)
        }
        _ => format!("{} days", span.as_secs() / 86_400),
    }
}

/// A moment of a run, so precisely that moments of a window of this length differ.
pub(super) fn moment(at: Duration, window: Duration) -> String {
    let decimals = match window.as_micros() {
        0..1_000 => 6,
        1_000..10_000 => 5,
        10_000..100_000 => 4,
        100_000..1_000_000 => 3,
        1_000_000..10_000_000 => 2,
        _ => return span(at),
    };
    match at.as_micros() {
        1_000_000.. => format!("{:.decimals$} s", at.as_secs_f64()),
        _ => span(at),
    }
}

/// How long ago a moment was.
pub(super) fn age(now: Timestamp, moment: Timestamp) -> String {
    match now.since(moment).as_secs() {
        0..5 => "just now".to_owned(),
        seconds @ 5..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..172_800 => format!("{} h ago", seconds / 3_600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

/// A number of bytes.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        _ => format!("{}B", short(bytes)),
    }
}

/// A number in at most four characters, with the letter of its size.
pub(super) fn short(number: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let Some((unit, letter)) = UNITS.iter().find(|(unit, _)| number >= *unit) else {
        return number.to_string();
    };
    let (whole, tenth) = (number / unit, number % unit * 10 / unit);
    if whole < 10 { format!("{whole}.{tenth} {letter}") } else { format!("{whole} {letter}") }
}

/// A number that may be negative.
pub(super) fn short_signed(number: i64) -> String {
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", short(number.unsigned_abs()))
}

/// A number of things, in singular or plural.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_a_short_window_differ() {
        let (micros, window) = (Duration::from_micros, Duration::from_micros(70_000));
        let moments = [4_480_000, 4_515_000, 4_550_000].map(|at| moment(micros(at), window));
        assert_eq!(moments, ["4.4800 s", "4.5150 s", "4.5500 s"]);
        assert_eq!(moment(micros(35_000), window), "35 ms");
        assert_eq!(moment(micros(65_000_000), micros(65_000_000)), "1 min 5 s");
    }

    #[test]
    fn numbers_are_short() {
        let spans = [12, 1_234, 45_600, 1_500_000, 61_000_000, 7_260_000_000, 300_000_000_000];
        assert_eq!(
            spans.map(|micros| span(Duration::from_micros(micros))),
            ["12 µs", "1.2 ms", "45 ms", "1.5 s", "1 min 1 s", "2 h 1 min", "3 days"]
        );
        assert_eq!(
            [7, 999, 1_000, 12_345, 9_900_000].map(short),
            ["7", "999", "1.0 k", "12 k", "9.9 M"]
        );
        assert_eq!([5, 1_500].map(bytes), ["5 B", "1.5 kB"]);
        assert_eq!([-1_500, 3].map(short_signed), ["−1.5 k", "3"]);
    }

    #[test]
    fn foreign_text_shows_what_it_hides() {
        assert_eq!(line("a\u{202e}b\nc", 99), "a\\u{202e}b\\u{a}c");
        assert_eq!(block("a\u{1b}[2J\nb", 99), "a\\u{1b}[2J\nb");
        assert_eq!(line("äöü", 2), "äö…");
    }
}
