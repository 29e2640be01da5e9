//! Installations, edits by others and removals in any order: nothing that others wrote is lost.

use std::path::PathBuf;

use onecall_clients::edit::{
    CommentHandling, EntryContent, InsertionTrace, entries, insert, read, remove,
};
use onecall_clients::{
    Client, ClientFileLocation, FileFormat, InstallRecord, InstallRequest, Os, Scope, Server,
    UserEnvironment, install, uninstall,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// One thing that happens to a client's file.
#[derive(Clone, Debug)]
enum Event {
    Install {
        /// Which program; another one changes an entry that is there.
        version: u8,
        replace: bool,
    },
    Uninstall,
    /// Another author adds a server; every second one is bridged by onecall.
    AddServer,
    /// Another author removes a server of the file.
    RemoveServer(prop::sample::Index),
    /// Another author writes a comment above a line outside of entries, or behind everything.
    AddComment(prop::sample::Index),
    /// Another author adds a variable to our entry.
    AddVariable,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => (0_u8..2, any::<bool>())
            .prop_map(|(version, replace)| Event::Install { version, replace }),
        2 => Just(Event::Uninstall),
        2 => Just(Event::AddServer),
        1 => any::<prop::sample::Index>().prop_map(Event::RemoveServer),
        2 => any::<prop::sample::Index>().prop_map(Event::AddComment),
        1 => Just(Event::AddVariable),
    ];
    prop::collection::vec(event, 1..12)
}

/// A client's file, what onecall remembers of it, and what others have written.
struct File {
    text: String,
    location: ClientFileLocation,
    record: Option<InstallRecord>,
    /// What the file held before the first installation, as its backup.
    original: Option<String>,
    servers: Map<String, Value>,
    comments: Vec<String>,
    variables: Map<String, Value>,
    count: usize,
}

fn bridged(number: usize) -> bool {
    number.is_multiple_of(2)
}

impl File {
    fn new(client: Client, text: &str) -> Self {
        let user = UserEnvironment {
            os: Os::Linux,
            environment: &|_| None,
            home: "/home/ada".to_owned(),
            project: "/home/ada/shop".to_owned(),
        };
        let location = user
            .locations(client)
            .into_iter()
            .find(|location| location.scope == Scope::User)
            .unwrap();
        let location = ClientFileLocation { path: PathBuf::from("/file"), ..location };
        Self {
            text: text.to_owned(),
            location,
            record: None,
            original: None,
            servers: Map::new(),
            comments: Vec::new(),
            variables: Map::new(),
            count: 0,
        }
    }

    fn happen(&mut self, event: &Event) {
        match event {
            Event::Install { version, replace } => self.install(*version, *replace),
            Event::Uninstall => self.uninstall(),
            Event::AddServer => self.add_server(),
            Event::RemoveServer(index) => self.remove_server(index),
            Event::AddComment(index) => self.add_comment(index),
            Event::AddVariable => self.add_variable(),
        }
    }

    fn install(&mut self, version: u8, replace: bool) {
        let servers: Vec<Server> =
            (0..self.count).filter(|number| bridged(*number) && replace).map(server).collect();
        let command = format!("/opt/{version}/onecall");
        let request = InstallRequest {
            command: &command,
            args: &["serve".to_owned()],
            variables: &[],
            env: &[],
            bridged: &servers,
            project: "/home/ada/shop",
        };
        let places = [self.location.clone()];
        let before = self.record.as_ref();
        let change = install(&self.text, &places, true, &request, before).unwrap();
        let Some(change) = change else { return };
        let untouched = before.is_none_or(|before| before.matches_text(&self.text));
        if before.is_none() {
            self.original = Some(self.text.clone());
        } else if !untouched {
            self.original = None;
        }
        (self.text, self.record) = (change.text, Some(change.record));
    }

    fn uninstall(&mut self) {
        let record = self.record.take();
        let untouched = record.as_ref().is_some_and(|record| record.matches_text(&self.text));
        let places = [self.location.clone()];
        match self.original.take().filter(|_| untouched) {
            Some(original) => self.text = original,
            None => {
                let text = uninstall(&self.text, &places, record.as_ref()).unwrap();
                self.text = text.unwrap_or_else(|| self.text.clone());
            }
        }
        self.variables.clear();
        self.check();
    }

    /// Everything of others is there, nothing of ours, and nothing else.
    fn check(&self) {
        let document = read(&self.text, self.location.section.format).unwrap();
        let mut found: Vec<_> = entries(&document, &self.location.section)
            .into_iter()
            .map(|(name, entry)| (name.to_owned(), entry.get("command").cloned()))
            .collect();
        let mut expected: Vec<_> = self
            .servers
            .iter()
            .map(|(name, entry)| (name.clone(), entry.get("command").cloned()))
            .collect();
        found.sort_by(|one, other| one.0.cmp(&other.0));
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(found, expected, "{}", self.text);
        for comment in &self.comments {
            assert_eq!(self.text.matches(comment.as_str()).count(), 1, "{comment}\n{}", self.text);
        }
    }

    fn add_server(&mut self) {
        let number = self.count;
        self.count += 1;
        let server = server(number);
        let content = EntryContent::Entry(server.entry(), Vec::new());
        self.text = insert(&self.text, &self.location.section, &server.name, &content).unwrap().0;
        self.servers.insert(server.name.clone(), Value::Object(server.entry()));
    }

    /// Removes one that is in the file now: one that was moved is not there to be removed.
    fn remove_server(&mut self, index: &prop::sample::Index) {
        let section = self.location.section.clone();
        let document = read(&self.text, section.format).unwrap();
        let names: Vec<String> = entries(&document, &section)
            .into_iter()
            .map(|(name, _)| name.to_owned())
            .filter(|name| name != "onecall")
            .collect();
        if names.is_empty() {
            return;
        }
        let name = index.get(&names);
        let trace = InsertionTrace::none(&section);
        self.text = remove(&self.text, &section, name, &trace, CommentHandling::Keep).unwrap().0;
        self.servers.remove(name);
    }

    fn add_comment(&mut self, index: &prop::sample::Index) {
        let sign = if self.location.section.format == FileFormat::Json { "//" } else { "#" };
        let comment = format!("{sign} note {} of others.", self.comments.len());
        let lines: Vec<&str> = self.text.split_inclusive('\n').collect();
        // A comment inside of an entry belongs to the entry.
        let places: Vec<usize> =
            (0..=lines.len()).filter(|at| self.is_between(&lines, *at)).collect();
        if places.is_empty() {
            return;
        }
        let at = *index.get(&places);
        let head: String = lines.iter().take(at).copied().collect();
        let tail: String = lines.iter().skip(at).copied().collect();
        let gap = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
        let indent: String = tail.chars().take_while(|c| *c == ' ').collect();
        self.text = format!("{head}{gap}{indent}{comment}\n{tail}");
        self.comments.push(comment);
    }

    fn is_between(&self, lines: &[&str], at: usize) -> bool {
        let next = lines.get(at).copied().unwrap_or_default();
        let indent = next.len() - next.trim_start_matches(' ').len();
        match self.location.section.format {
            FileFormat::Json => {
                let is_end = next.trim_start().starts_with('}');
                !next.trim().is_empty() && indent <= if is_end { 2 } else { 4 }
            }
            FileFormat::Toml => next.trim_start().starts_with('[') || next.is_empty(),
            FileFormat::Yaml => next.trim_start().starts_with("- ") || next.is_empty(),
        }
    }

    fn add_variable(&mut self) {
        let section = self.location.section.clone();
        let document = read(&self.text, section.format).unwrap();
        let ours = entries(&document, &section).into_iter().find(|(name, _)| *name == "onecall");
        let Some((_, Value::Object(entry))) = ours else { return };
        let mut entry = entry.clone();
        entry.shift_remove("name");
        let name = format!("VARIABLE_{}", self.variables.len());
        self.variables.insert(name, json!("its value"));
        entry.insert("env".to_owned(), Value::Object(self.variables.clone()));
        let trace = InsertionTrace::none(&section);
        let (text, _) =
            remove(&self.text, &section, "onecall", &trace, CommentHandling::Keep).unwrap();
        self.text =
            insert(&text, &section, "onecall", &EntryContent::Entry(entry, Vec::new())).unwrap().0;
    }

    /// What others added to our entry is still in it.
    fn check_entry(&self) {
        let document = read(&self.text, self.location.section.format).unwrap();
        let ours = entries(&document, &self.location.section);
        let ours = ours.into_iter().find(|(name, _)| *name == "onecall");
        if let Some((_, entry)) = ours {
            let found = entry.get("env").cloned().unwrap_or_else(|| json!({}));
            assert_eq!(found, Value::Object(self.variables.clone()), "{}", self.text);
        }
    }
}

fn server(number: usize) -> Server {
    let file = format!("servers:\n  - name: server{number}\n    command: program-{number}\n");
    onecall_clients::own_config_servers(&file).unwrap().remove(0)
}

const STARTS: [(Client, &str); 6] = [
    (Client::Cursor, ""),
    (Client::Cursor, "{\n  \"mcpServers\": {\n    \"zero\": { \"command\": \"x\" }\n  }\n}\n"),
    (Client::Cursor, "{\n  \"theme\": \"dark\"\n}\n"),
    (Client::Codex, "model = \"x\"\n\n[mcp_servers.zero]\ncommand = \"x\"\n\n[tui]\nx = 1\n"),
    (Client::Codex, "model = \"x\"\n"),
    (Client::Continue, "name: mine\nmcpServers:\n  - name: zero\n    command: x\nrules: []\n"),
];

proptest! {
    #![proptest_config(super::config())]

    #[test]
    fn nothing_of_others_is_lost(start in prop::sample::select(STARTS.to_vec()), events in events()) {
        let (client, text) = start;
        let mut file = File::new(client, text);
        if text.contains("zero") {
            file.servers.insert("zero".to_owned(), json!({ "command": "x" }));
        }
        for event in &events {
            file.happen(event);
            file.check_entry();
        }
        file.uninstall();
    }
}
