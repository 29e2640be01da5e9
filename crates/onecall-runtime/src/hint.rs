//! One-line hints for programs that failed because they tried something that programs cannot do.
//! The texts are fixed; the only text from servers in them are callable names.

use onecall_core::{DeniedResource, ToolSpec};

use crate::directory::Directory;

/// How many tools a hint names at most.
const MAX_NAMED_TOOLS: usize = 3;

/// Characters of a tool's description that are searched.
const LONGEST_DESCRIPTION: usize = 1_000;

/// The words by which tools are recognised that can do what a program cannot. A tool matches if it
/// has a word of each list.
struct ToolKeywords {
    /// Words in the name or the description.
    purpose: &'static [&'static str],
    /// Words in the name; an empty list matches every name.
    verbs: &'static [&'static str],
    /// Names of parameters.
    parameters: &'static [&'static str],
}

const WEB_PAGES: ToolKeywords = ToolKeywords {
    purpose: &[
        "browse", "browser", "crawl", "download", "fetch", "fetches", "http", "https", "navigate",
        "page", "pages", "scrape", "url", "urls", "web", "webpage", "website",
    ],
    verbs: &[],
    parameters: &["url", "urls", "uri", "link", "href"],
};

const FILES: ToolKeywords = ToolKeywords {
    purpose: &["file", "files", "filesystem", "document", "documents"],
    verbs: &["cat", "get", "load", "open", "read", "view"],
    parameters: &["path", "paths", "file", "file_path", "filepath", "filename", "file_name"],
};

const COMMANDS: ToolKeywords = ToolKeywords {
    purpose: &["bash", "command", "commands", "shell", "terminal", "process"],
    verbs: &["bash", "command", "exec", "execute", "run", "shell", "spawn", "start", "terminal"],
    parameters: &["command", "cmd", "commands", "script"],
};

const FEW_FILES: &str = "Programs see only the files of a workspace, which `workspace` in the \
     configuration gives them, and scratch files of their own in /tmp";

/// What to do if no tool fits.
const NO_TOOL: &str =
    "What they need from outside has to come from another tool (search_tools) or from the user";

/// The hint for a denied operation: what programs cannot do, and what to do instead.
pub(crate) fn hint(denied: DeniedResource, directory: &dyn Directory) -> String {
    let (sentence, tools) = match denied {
        DeniedResource::Network => {
            ("Programs have no network", Some(("Tools that fetch web pages", WEB_PAGES)))
        }
        DeniedResource::Files => (FEW_FILES, Some(("Tools that read files", FILES))),
        DeniedResource::Processes => {
            ("Programs cannot start processes", Some(("Tools that run commands", COMMANDS)))
        }
        DeniedResource::Input => {
            ("Programs have no input: write the values into the program", None)
        }
    };
    let Some((label, keywords)) = tools else { return sentence.to_owned() };
    let known = directory.known_tools();
    let fits = known.iter().filter(|spec| keywords.matches(spec));
    let names: Vec<&str> = fits.map(|spec| spec.callable.as_str()).take(MAX_NAMED_TOOLS).collect();
    if names.is_empty() {
        return format!("{sentence}. {NO_TOOL}");
    }
    format!("{sentence}. {label}: {}", names.join(", "))
}

impl ToolKeywords {
    fn matches(&self, spec: &ToolSpec) -> bool {
        let name = words(spec.tool.as_str());
        let has = |words: &[String], keywords: &[&str]| {
            words.iter().any(|word| keywords.contains(&word.as_str()))
        };
        let is_named = self.verbs.is_empty() || has(&name, self.verbs);
        is_named
            && (has(&name, self.purpose) || has(&words_of_description(spec), self.purpose))
            && spec
                .parameters()
                .iter()
                .any(|it| self.parameters.contains(&it.to_lowercase().as_str()))
    }
}

fn words_of_description(spec: &ToolSpec) -> Vec<String> {
    let text = spec.description.as_deref().unwrap_or_default();
    words(text.get(..text.floor_char_boundary(LONGEST_DESCRIPTION)).unwrap_or_default())
}

/// The words of a text in lower case; `readFile` counts as two words.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in text.chars() {
        let is_new = !character.is_alphanumeric() || (was_lower && character.is_uppercase());
        if is_new {
            words.push(String::new());
        }
        was_lower = character.is_lowercase();
        if let (true, Some(word)) = (character.is_alphanumeric(), words.last_mut()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
