//! Looks up a server by name. Models write a server's name as in callable names, as an identifier
//! of their language, or as the user calls it.

use onecall_core::nearest::{letters_and_digits as letters, nearest};

/// The result of looking up a server's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerMatch<'a> {
    /// Exactly one server matches.
    One(&'a str),
    /// Several servers match; their names differ only in case or separators.
    Several(Vec<&'a str>),
    /// No server matches; this one is the most similar, if any is.
    None(Option<&'a str>),
}

/// Looks `name` up among the `known` servers: first exactly, then by its letters and digits alone.
pub fn match_server<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> ServerMatch<'a> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(exact) = known.iter().find(|it| **it == name) {
        return ServerMatch::One(exact);
    }
    let wanted = letters(name);
    let alike: Vec<&str> = known.iter().copied().filter(|it| letters(it) == wanted).collect();
    match alike.as_slice() {
        [one] => ServerMatch::One(one),
        [] => ServerMatch::None(nearest(name, known.iter().copied())),
        _ => ServerMatch::Several(alike),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_however_it_is_written() {
        let known = ["financial-data", "github", "a-b", "a_b"];
        for (name, expected) in [
            ("financial-data", ServerMatch::One("financial-data")),
            ("financial_data", ServerMatch::One("financial-data")),
            ("financialData", ServerMatch::One("financial-data")),
            ("a_b", ServerMatch::One("a_b")),
            ("aB", ServerMatch::Several(vec!["a-b", "a_b"])),
            ("githab", ServerMatch::None(Some("github"))),
            ("financial", ServerMatch::None(Some("financial-data"))),
            ("weather", ServerMatch::None(None)),
            ("", ServerMatch::None(None)),
        ] {
            assert_eq!(match_server(name, known), expected, "{name}");
        }
        let endless = "x".repeat(1_000_000);
        assert_eq!(match_server(&endless, known), ServerMatch::None(None));
    }
}
