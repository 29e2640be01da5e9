//! Screens without what differs from run to run.

use crate::support::screen::Screen;

/// What the screens show in the place of the home folder; just as long, so that columns and line
/// ends stay where they are.
pub const HOME: &str = "/home/ada/first";

/// What the name of a backup has before its time.
const BACKUP: &str = ".onecall-backup-";

/// What the screens show in the place of that time; just as long, too.
const BACKUP_TIME: &str = "[date and time]";

/// Units of durations; a limit is a whole number of seconds without a space.
const UNITS: [&str; 4] = [" ms", " s", "ms", "µs"];

/// What a terminal shows after `written`, as it is on every machine.
pub fn stable_screen(written: &str, home: &str) -> String {
    let written = without_backup_times(&written.replace(home, HOME));
    // Before the lines are broken: where they end depends on how long a duration is.
    let screen = Screen::of(&without_durations(&written));
    assert!(screen.shows_cursor, "the cursor stays hidden:\n{screen}");
    let is_frame = |character: char| ('\u{2800}'..='\u{28ff}').contains(&character);
    let screen = screen.to_string();
    let lines = screen.lines().map(|line| line.trim_start_matches(is_frame));
    lines.collect::<Vec<_>>().join("\n")
}

/// Only these sections of the output of `onecall doctor`; the others depend on the machine.
pub fn sections(screen: &str, names: &[&str]) -> String {
    let sections = screen.split("\n\n");
    let is_meant = |section: &&str| section.lines().next().is_some_and(|it| names.contains(&it));
    sections.filter(is_meant).collect::<Vec<_>>().join("\n\n")
}

fn without_backup_times(text: &str) -> String {
    let mut pieces = text.split(BACKUP);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        let rest = piece.get(BACKUP_TIME.len()..).unwrap_or_default();
        format!("{text}{BACKUP}{BACKUP_TIME}{rest}")
    })
}

/// Writes `[time]` in the place of durations such as `12 ms`, `71ms`, `1.5 s` and `2.55s`.
fn without_durations(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(start);
        let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
        let (digits, after) = number.split_at(end);
        let units = UNITS.into_iter().chain(digits.contains('.').then_some("s"));
        let is_whole_word = |unit: &&str| {
            let next = after.strip_prefix(*unit).map(|after| after.chars().next());
            next.is_some_and(|next| next.is_none_or(|next| !next.is_alphanumeric()))
        };
        let unit = units.into_iter().find(is_whole_word);
        shown.push_str(before);
        shown.push_str(if unit.is_some() { "[time]" } else { digits });
        rest = &after[unit.map_or(0, str::len)..];
    }
    shown + rest
}
