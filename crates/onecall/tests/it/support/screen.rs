//! What a terminal shows of the bytes that are written to it.

use std::fmt;

/// The width of the terminal.
pub const COLUMNS: usize = 100;

/// The lines on a terminal, those that scrolled out of sight too, and its cursor.
pub struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
    /// Whether a person sees the cursor.
    pub shows_cursor: bool,
}

impl Screen {
    /// The screen after `written` has been written to an empty one.
    pub fn of(written: &str) -> Self {
        let mut screen = Self { lines: vec![Vec::new()], row: 0, column: 0, shows_cursor: true };
        let mut characters = written.chars();
        while let Some(character) = characters.next() {
            match character {
                '\r' => screen.column = 0,
                '\n' => screen.move_to(screen.row + 1),
                '\u{8}' => screen.column = screen.column.saturating_sub(1),
                // What it has written is cut in the middle of a sequence.
                '\x1b' => _ = screen.apply_escape_sequence(&mut characters),
                other => screen.show(other),
            }
        }
        screen
    }

    /// The line that the cursor is in.
    pub fn current_line(&self) -> String {
        self.lines[self.row].iter().collect::<String>().trim_end().to_owned()
    }

    /// Whether this is the last text on the screen.
    pub fn ends_with(&self, text: &str) -> bool {
        self.to_string().ends_with(text)
    }

    /// How many lines contain this text.
    pub fn count(&self, text: &str) -> usize {
        self.to_string().lines().filter(|line| line.contains(text)).count()
    }

    fn move_to(&mut self, row: usize) {
        self.row = row;
        self.lines.resize(self.lines.len().max(row + 1), Vec::new());
    }

    fn show(&mut self, character: char) {
        // A full line wraps only when something follows.
        if self.column == COLUMNS {
            self.move_to(self.row + 1);
            self.column = 0;
        }
        let line = &mut self.lines[self.row];
        line.resize(line.len().max(self.column + 1), ' ');
        line[self.column] = character;
        self.column += 1;
    }

    /// Applies an escape sequence, whose first character was already read.
    fn apply_escape_sequence(&mut self, characters: &mut std::str::Chars<'_>) -> Option<()> {
        assert_eq!(characters.next()?, '[', "an escape sequence that this terminal does not know");
        let (mut parameter, mut last) = (String::new(), characters.next()?);
        while !last.is_ascii_alphabetic() {
            parameter.push(last);
            last = characters.next()?;
        }
        let number = parameter.parse::<usize>().unwrap_or(0);
        let count = number.max(1);
        match (parameter.as_str(), last) {
            ("?25", 'h' | 'l') => self.shows_cursor = last == 'h',
            // Colours, and marks around pasted text.
            (_, 'm') | ("?2004", 'h' | 'l') => {}
            (_, 'A') => self.row = self.row.saturating_sub(count),
            (_, 'B') => self.move_to(self.row + count),
            (_, 'C') => self.column = (self.column + count).min(COLUMNS - 1),
            (_, 'D') => self.column = self.column.saturating_sub(count),
            (_, 'G') => self.column = count - 1,
            (_, 'K') if number == 2 => self.lines[self.row].clear(),
            (_, 'K') if number == 0 => self.lines[self.row].truncate(self.column),
            (_, 'J') if number == 0 => {
                self.lines[self.row].truncate(self.column);
                self.lines.truncate(self.row + 1);
            }
            _ => panic!("this terminal does not know the sequence [{parameter}{last}"),
        }
        Some(())
    }
}

/// The text on the screen, without blanks at the ends of lines and of the whole.
impl fmt::Display for Screen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines.iter().map(|line| line.iter().collect::<String>());
        let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
        formatter.write_str(lines.join("\n").trim_end())
    }
}
