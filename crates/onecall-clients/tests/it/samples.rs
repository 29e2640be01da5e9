//! Files as each client writes them: what is read out of them, and that onecall comes and
//! goes without a trace.

use std::path::{Path, PathBuf};

use onecall_clients::{
    Client, ClientFileLocation, Discovery, InstallRequest, Os, Scope, UserEnvironment, install,
    own_config_servers, uninstall, with_servers,
};

const SAMPLES: [(&str, Client); 10] = [
    ("claude-code.json", Client::ClaudeCode),
    ("claude-desktop.json", Client::ClaudeDesktop),
    ("cursor.json", Client::Cursor),
    ("vscode.json", Client::VsCode),
    ("vscode-settings.json", Client::VsCode),
    ("windsurf.json", Client::Windsurf),
    ("codex.toml", Client::Codex),
    ("gemini.json", Client::Gemini),
    ("zed.json", Client::Zed),
    ("continue.yaml", Client::Continue),
];

fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples").join(name)
}

fn user() -> UserEnvironment<'static> {
    UserEnvironment {
        os: Os::Linux,
        environment: &|_| None,
        home: "/home/ada".to_owned(),
        project: "/home/ada/shop".to_owned(),
    }
}

/// The locations of the client that a sample is for, in the sample.
fn locations(name: &str, client: Client) -> Vec<ClientFileLocation> {
    let is_settings = |location: &ClientFileLocation| location.path.ends_with("settings.json");
    let locations = user().locations(client).into_iter();
    let fits = |location: &ClientFileLocation| {
        location.scope == Scope::User
            && (client != Client::VsCode || is_settings(location) == name.contains("settings"))
    };
    locations
        .filter(fits)
        .filter(|location| !location.path.to_string_lossy().ends_with('/'))
        .map(|location| ClientFileLocation { path: sample(name), ..location })
        .collect()
}

/// What onecall's configuration would say.
fn taken_over(name: &str, client: Option<Client>) -> String {
    let mut discovery = Discovery::default();
    discovery.add_file(&sample(name), client, &user(), None);
    let servers: Vec<_> =
        discovery.servers.iter().map(|found| (&found.server, found.server.notes.clone())).collect();
    let text = with_servers("servers:\n", &servers).unwrap();
    let folder = sample("");
    let problems: String = discovery
        .problems
        .iter()
        .map(|problem| format!("! {}\n", problem.replace(&*folder.to_string_lossy(), "")))
        .collect();
    // What is written can be read, and is the same.
    let read = own_config_servers(&text).unwrap();
    assert_eq!(read.len(), discovery.servers.len());
    for (found, read) in discovery.servers.iter().zip(&read) {
        assert_eq!(found.server.entry(), read.entry());
    }
    format!("{text}{problems}skipped: {}\n", discovery.own_entries.len())
}

#[test]
fn what_is_read_out() {
    let all: String = SAMPLES
        .iter()
        .map(|(name, client)| format!("=== {name}\n{}", taken_over(name, Some(*client))))
        .collect();
    insta::assert_snapshot!(all);
}

#[test]
fn a_file_tells_whose_it_is() {
    // The files of these three clients look like others; only their file names identify them.
    for (name, client) in SAMPLES {
        if !matches!(client, Client::Gemini | Client::Windsurf | Client::ClaudeDesktop) {
            assert_eq!(taken_over(name, None), taken_over(name, Some(client)), "{name}");
        }
    }
}

fn request<'r>(bridged: &'r [onecall_clients::Server], args: &'r [String]) -> InstallRequest<'r> {
    let variables = &[];
    InstallRequest {
        command: "/opt/onecall",
        args,
        env: &[],
        variables,
        bridged,
        project: "/home/ada/shop",
    }
}

#[test]
fn onecall_comes_and_goes() {
    let args = ["serve".to_owned(), "--config".to_owned(), "/home/ada/onecall.yaml".to_owned()];
    for (name, client) in SAMPLES {
        let text = std::fs::read_to_string(sample(name)).unwrap();
        // What is in it already would be changed, not added.
        let text = text.replace("\"onecall\"", "\"other\"").replace("bin/onecall", "bin/other");
        for text in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let locations = locations(name, client);
            let request = request(&[], &args);
            let change = install(&text, &locations, true, &request, None).unwrap().unwrap();
            assert_eq!(
                install(&change.text, &locations, true, &request, None).unwrap(),
                None,
                "{name}"
            );
            let undone =
                uninstall(&change.text, &locations, Some(&change.record)).unwrap().unwrap();
            assert_eq!(undone, text, "{name}");
            assert_eq!(uninstall(&undone, &locations, None).unwrap(), None, "{name}");
        }
    }
}

#[test]
fn bridged_servers_move_out_and_back() {
    let args = ["serve".to_owned()];
    let mut shown = String::new();
    for (name, client) in SAMPLES {
        let text = std::fs::read_to_string(sample(name)).unwrap();
        let own = taken_over(name, Some(client));
        let own = own.split("! ").next().unwrap().split("skipped").next().unwrap();
        let bridged = own_config_servers(own).unwrap();
        let locations = locations(name, client);
        let change =
            install(&text, &locations, true, &request(&bridged, &args), None).unwrap().unwrap();
        shown += &format!("=== {name}\n{}", change.text);
        // Another program has written the file meanwhile.
        let touched = format!("{}\n", change.text);
        let undone = uninstall(&touched, &locations, Some(&change.record)).unwrap().unwrap();
        let again =
            install(&undone, &locations, true, &request(&bridged, &args), None).unwrap().unwrap();
        assert_eq!(again.record.moved.len(), change.record.moved.len(), "{name}");
    }
    insta::assert_snapshot!(shown);
}
