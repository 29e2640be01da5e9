//! Synonyms of words in the context of tools, and words without meaning for a search. A server
//! names a tool once, but a query may use other words for it.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::stems::stems;

/// The groups of synonyms, one per line.
const SYNONYM_GROUPS: &[&str] = &[
    "folder directory",
    "create make new open add insert",
    "delete remove erase drop destroy",
    "update edit change modify patch",
    "search find look query lookup",
    "get show see read retrieve view display",
    "list all enumerate",
    "send post write publish",
    "fetch download url page website webpage internet",
    "navigate visit website browse goto",
    "log history",
    "memory remember knowledge observation fact",
    "issue ticket bug problem",
    "message mail email chat",
    "repository repo project",
    "picture image screenshot photo",
    "person user people member who contact",
    "place location restaurant shop business",
    "table sheet spreadsheet",
    "run execute evaluate",
    "move rename",
    "size large big",
    "tree structure hierarchy",
    "event meeting appointment calendar",
    "money currency price payment",
];

/// Words of questions that do not describe a tool.
const STOP_WORDS: &str = "a an and are as at be by can do for from how i in is it me my of on or our \
                     please s so that the there this to us was we what where which with you your";

static SYNONYMS: LazyLock<HashMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut synonyms = HashMap::<String, Vec<String>>::new();
    for group in SYNONYM_GROUPS {
        let members: Vec<String> = group.split(' ').flat_map(stems).collect();
        for member in &members {
            let others = members.iter().filter(|other| *other != member).cloned();
            synonyms.entry(member.clone()).or_default().extend(others);
        }
    }
    synonyms
});

/// The synonyms of a stem.
pub(crate) fn synonyms_of(stem: &str) -> &'static [String] {
    SYNONYMS.get(stem).map(Vec::as_slice).unwrap_or_default()
}

/// Whether a word has no meaning for a search.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.split_ascii_whitespace().any(|stop_word| stop_word.eq_ignore_ascii_case(word))
}
