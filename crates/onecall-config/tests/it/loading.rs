//! The whole way: search, read, leave out what would start onecall again.

use std::fs;
use std::path::{Path, PathBuf};

use onecall_config::{Config, Directories, LoadedConfig, ProcessContext, load};
use tempfile::TempDir;

struct ConfigFolder {
    root: TempDir,
}

impl ConfigFolder {
    fn new() -> Self {
        Self { root: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn load(&self, explicit: Option<&Path>) -> Result<LoadedConfig, String> {
        let root = self.root.path();
        let context = ProcessContext {
            environment: &|name| (name == "PATH").then(|| root.display().to_string()),
            working_directory: root.to_path_buf(),
            directories: Directories::default(),
            executable: Some(root.join("program")),
        };
        load(explicit, &context)
            .map_err(|error| error.to_string().replace(&root.display().to_string(), ""))
    }
}

#[test]
fn no_file_is_an_empty_configuration() {
    let LoadedConfig { config, source, warnings, .. } = ConfigFolder::new().load(None).unwrap();
    assert_eq!((config, source, warnings), (Config::default(), None, vec![]));
}

#[test]
fn without_a_state_directory_nothing_is_trusted() {
    let place = ConfigFolder::new();
    let file = place.write("onecall.yaml", "");
    let loaded = place.load(None).unwrap();
    assert_eq!(loaded.source, None);
    let expected = format!(
        "'{}' is not read: without HOME or XDG_STATE_HOME there is no record of trust; name it with --config",
        file.display()
    );
    assert_eq!(loaded.warnings, [expected]);
}

#[test]
fn servers_of_plans_need_a_place() {
    let place = ConfigFolder::new();
    let warnings = |text: &str| {
        let file = place.write("c.yaml", text);
        place.load(Some(&file)).unwrap().warnings
    };
    let [warning] = &warnings("proxy: {dynamic_servers: true}")[..] else { panic!("no warning") };
    assert!(warning.contains("'allowed_hosts' in proxy lists no place"), "{warning}");
    let hosts = "allowed_hosts: ['localhost:8080']";
    assert!(warnings(&format!("proxy: {{dynamic_servers: true, {hosts}}}")).is_empty());
    assert!(warnings("proxy: {dynamic_servers: false}").is_empty());
}

#[test]
fn problems_name_the_file() {
    let place = ConfigFolder::new();
    let file = place.write("c.yaml", "servers:\n  a: {command: x, arg: []}");
    assert_eq!(
        place.load(Some(&file)).unwrap_err(),
        "/c.yaml:2:19: unknown key 'arg' in server 'a'\n  help: did you mean 'args'?"
    );
    fs::write(&file, b"\xff\xfe").unwrap();
    assert_eq!(
        place.load(Some(&file)).unwrap_err(),
        "/c.yaml:1:1: the file is not valid UTF-8 from here on\n  help: save it as UTF-8"
    );
}

#[cfg(unix)]
#[test]
fn entries_that_start_onecall_are_skipped() {
    let place = ConfigFolder::new();
    let program = place.write("program", "");
    std::os::unix::fs::symlink(&program, place.root.path().join("link")).unwrap();
    place.write("other", "");
    let program = program.display();
    let rows = [
        ("command: onecall".to_owned(), true),
        ("command: onecall, args: [serve, --config, x]".to_owned(), true),
        ("command: onecall, args: [run, x]".to_owned(), false),
        ("command: /opt/bin/onecall".to_owned(), true),
        ("command: onecall.exe".to_owned(), true),
        ("command: onecall-else".to_owned(), false),
        ("command: program".to_owned(), true),
        ("command: link".to_owned(), true),
        ("command: ./link, args: [serve]".to_owned(), true),
        (format!("command: {program}"), true),
        (format!("command: {program}, args: [doctor]"), false),
        ("command: other".to_owned(), false),
        ("command: nowhere".to_owned(), false),
        ("url: http://onecall".to_owned(), false),
    ];
    for (entry, is_skipped) in rows {
        let file = place.write("c.yaml", &format!("servers: {{it: {{{entry}}}}}"));
        let loaded = place.load(Some(&file)).unwrap();
        let warning = format!(
            "server 'it' in '{}' is skipped: it would start onecall inside onecall",
            file.display()
        );
        let warnings = if is_skipped { vec![warning] } else { vec![] };
        assert_eq!(loaded.warnings, warnings, "{entry}");
        assert_eq!(loaded.config.servers.is_empty(), is_skipped, "{entry}");
        assert_eq!(loaded.source, Some(file));
    }
}
