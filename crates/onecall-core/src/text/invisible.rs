//! Detects characters that a person cannot see. A model reads them, so an instruction could be
//! hidden in them.

use std::str::Chars;

/// The flags of England, Scotland and Wales. They are the only valid use of tag characters, which
/// can otherwise hide text.
const TAGGED_FLAGS: [&str; 3] = [
    "\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];
const BLACK_FLAG: char = '\u{1f3f4}';
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
const KEYCAP: char = '\u{20e3}';

/// Iterates over the characters of a text, each with whether it is visible.
///
/// Invisible are: control characters (including line breaks and tabs: the caller decides about
/// them), marks and overrides of direction, zero-width characters, variation selectors, tags, line
/// and paragraph separators, annotations, fillers, private and reserved characters. Where a script
/// needs such a character, it counts as visible: joiners and one selector inside an emoji, joiners
/// between letters of scripts that use them, and the tags of three flags.
pub fn chars_with_visibility(text: &str) -> CharsWithVisibility<'_> {
    CharsWithVisibility { rest: text.chars(), before: PreviousChar::Other, flag: 0 }
}

/// The iterator that [`chars_with_visibility`] returns.
#[derive(Clone, Debug)]
pub struct CharsWithVisibility<'a> {
    rest: Chars<'a>,
    before: PreviousChar,
    /// How many of the next characters belong to a flag.
    flag: usize,
}

/// The class of the previous character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PreviousChar {
    Emoji,
    /// An emoji with its variation selector.
    SelectedEmoji,
    Digit,
    /// A letter of a script that is written with joiners.
    JoiningLetter,
    Other,
}

impl Iterator for CharsWithVisibility<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<Self::Item> {
        let character = self.rest.next()?;
        if self.flag > 0 {
            self.flag -= 1;
            return Some((character, true));
        }
        if character == BLACK_FLAG {
            let mut flags = TAGGED_FLAGS.iter();
            let rest = self.rest.as_str();
            let tags = flags.find(|tags| rest.starts_with(**tags));
            self.flag = tags.map_or(0, |tags| tags.chars().count());
        }
        let is_visible = !is_invisible(character) || self.is_needed(character);
        self.before = match character {
            '\u{fe0e}' | '\u{fe0f}' if is_visible => PreviousChar::SelectedEmoji,
            '0'..='9' | '#' | '*' => PreviousChar::Digit,
            _ if is_emoji(character) => PreviousChar::Emoji,
            _ if is_joining_letter(character) => PreviousChar::JoiningLetter,
            _ => PreviousChar::Other,
        };
        Some((character, is_visible))
    }
}

impl CharsWithVisibility<'_> {
    /// Whether an invisible character is part of a valid sequence with its neighbours.
    fn is_needed(&self, character: char) -> bool {
        let next = self.rest.clone().next();
        let follows = |is: fn(char) -> bool| next.is_some_and(is);
        match (character, self.before) {
            ('\u{fe0e}' | '\u{fe0f}', PreviousChar::Emoji) => true,
            ('\u{fe0f}', PreviousChar::Digit) => next == Some(KEYCAP),
            (JOINER, PreviousChar::Emoji | PreviousChar::SelectedEmoji) => follows(is_emoji),
            (JOINER | NON_JOINER, PreviousChar::JoiningLetter) => follows(is_joining_letter),
            _ => false,
        }
    }
}

fn is_invisible(character: char) -> bool {
    character.is_control() || is_noncharacter(character)
        // Characters that Unicode allows a font to ignore.
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
        // Separators, annotations, the Braille pattern without dots, and private use.
        || matches!(
            character,
            '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{2800}'
                | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}'
        )
}

fn is_noncharacter(character: char) -> bool {
    matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe
}

/// Characters that emoji sequences are made of; some of them are plain symbols as well.
fn is_emoji(character: char) -> bool {
    matches!(
        character,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
            | '\u{2194}'..='\u{21aa}' | '\u{231a}'..='\u{23ff}' | '\u{24c2}'
            | '\u{25aa}'..='\u{25fe}' | '\u{2600}'..='\u{27bf}' | '\u{2934}' | '\u{2935}'
            | '\u{2b05}'..='\u{2b55}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
            | '\u{1f000}'..='\u{1faff}'
    )
}

/// Arabic and the scripts of India, in which words are spelt with joiners.
fn is_joining_letter(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{77f}' | '\u{8a0}'..='\u{8ff}' | '\u{900}'..='\u{dff}')
        && !is_invisible(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> Vec<char> {
        chars_with_visibility(text)
            .filter(|(_, is_visible)| !is_visible)
            .map(|(character, _)| character)
            .collect()
    }

    #[test]
    fn ordinary_text_is_visible() {
        for text in [
            "Größe, crème brûlée, e\u{301}, naïve, “quotes” – dashes… \u{a0}€",
            "東京都 한국어 ภาษาไทย ქართული Ελληνικά русский",
            "مرحبا بالعالم شُكْرًا שָׁלוֹם עולם",
            "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී",
            "👍🏽 👩🏾\u{200d}💻 👨\u{200d}👩\u{200d}👧\u{200d}👦 ❤\u{fe0f}\u{200d}🔥 🏃🏻\u{200d}♀\u{fe0f}\u{200d}➡\u{fe0f} ✈\u{fe0e}",
            "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3} 🇩🇪 🏳\u{fe0f}\u{200d}🌈 ©\u{fe0f} ™\u{fe0f}",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f} 🏴\u{200d}☠\u{fe0f}",
        ] {
            assert_eq!(hidden(text), [], "{text}");
        }
    }

    #[test]
    fn data_cannot_hide_where_emoji_may_have_more() {
        for (text, expected) in [
            ("😀\u{fe0f}\u{fe0f}", "\u{fe0f}"),
            ("😀\u{e0100}\u{e0101}", "\u{e0100}\u{e0101}"),
            ("a\u{fe0f} 1\u{fe0f}2", "\u{fe0f}\u{fe0f}"),
            ("😀\u{fe00}", "\u{fe00}"),
            ("葛\u{e0100}", "\u{e0100}"),
            ("a\u{200d}b \u{200d}😀\u{200d}", "\u{200d}\u{200d}\u{200d}"),
            ("😀\u{200d}\u{200d}😀", "\u{200d}\u{200d}"),
            ("ب\u{200c}\u{200c}ب a\u{200c}b", "\u{200c}\u{200c}\u{200c}"),
            ("🏴\u{e0068}\u{e0069}\u{e007f}", "\u{e0068}\u{e0069}\u{e007f}"),
            ("🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}\u{e0041}", "\u{e0041}"),
        ] {
            assert_eq!(hidden(text), expected.chars().collect::<Vec<_>>(), "{text:?}");
        }
    }

    #[test]
    fn nothing_invisible_passes_by_itself() {
        for character in [
            0x00, 0x1b, 0x7f, 0x85, 0x9b, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200c,
            0x200d, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2064, 0x2066, 0x2069,
            0x2800, 0x3164, 0xe000, 0xfdd0, 0xfe00, 0xfe0f, 0xfeff, 0xffa0, 0xfff9, 0xfffb, 0xfffe,
            0x1fffe, 0xe0000, 0xe0001, 0xe0041, 0xe007f, 0xe0100, 0xe01ef, 0xf0000, 0x10ffff,
        ]
        .into_iter()
        .filter_map(char::from_u32)
        {
            let text = format!("a{character}b");
            assert_eq!(hidden(&text), [character], "{character:?}");
        }
    }
}
