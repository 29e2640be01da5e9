//! Which file is chosen, and which one is left alone.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use onecall_config::{ConfigError, Directories, ProcessContext, TrustStore, locate};
use tempfile::TempDir;

/// A working directory, a user's directories and variables, all in one temporary place.
struct ConfigFolder {
    root: TempDir,
    variables: HashMap<String, String>,
}

impl ConfigFolder {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        for directory in ["here", "config/onecall", "state"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        Self { root, variables: HashMap::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str) -> PathBuf {
        fs::write(self.path(name), format!("# {name}")).unwrap();
        self.path(name)
    }

    fn trust(&self, name: &str) {
        let bytes = fs::read(self.path(name)).unwrap();
        TrustStore::at(&self.path("state")).trust(&self.path(name), &bytes).unwrap();
    }

    /// The chosen file and the warnings, with the temporary place as `/`.
    fn search(&self, explicit: Option<&Path>) -> (Option<String>, Vec<String>) {
        let located = self.try_search(explicit).unwrap();
        let found = located.found.map(|found| {
            let name = self.relative(&found.path.display().to_string());
            assert_eq!(found.bytes, format!("# {}", name.trim_start_matches('/')).as_bytes());
            name
        });
        (found, located.warnings.iter().map(|warning| self.relative(warning)).collect())
    }

    fn try_search(
        &self,
        explicit: Option<&Path>,
    ) -> Result<onecall_config::LocatedConfig, ConfigError> {
        let context = ProcessContext {
            environment: &|name| self.variables.get(name).cloned(),
            working_directory: self.path("here"),
            directories: Directories {
                config: Some(self.path("config")),
                state: Some(self.path("state")),
            },
            executable: None,
        };
        locate(explicit, &context)
    }

    fn relative(&self, text: &str) -> String {
        text.replace(&self.root.path().display().to_string(), "")
    }
}

fn untrusted(name: &str) -> String {
    format!(
        "'/here/{name}' is not read: it is not trusted, and it could start programs; read it yourself, then run `onecall trust /here/{name}`"
    )
}

#[test]
fn the_order() {
    let mut place = ConfigFolder::new();
    assert_eq!(place.search(None), (None, vec![]));

    place.write("config/onecall/config.yaml");
    assert_eq!(place.search(None), (Some("/config/onecall/config.yaml".into()), vec![]));

    place.write("here/config.yaml");
    place.trust("here/config.yaml");
    assert_eq!(place.search(None), (Some("/here/config.yaml".into()), vec![]));

    place.write("here/onecall.yaml");
    place.trust("here/onecall.yaml");
    assert_eq!(place.search(None), (Some("/here/onecall.yaml".into()), vec![]));

    let older = place.write("older.yaml").display().to_string();
    place.variables.insert("PTC_MCP_CONFIG".into(), older);
    assert_eq!(place.search(None), (Some("/older.yaml".into()), vec![]));

    let newer = place.write("newer.yaml").display().to_string();
    place.variables.insert("ONECALL_CONFIG".into(), newer);
    assert_eq!(place.search(None), (Some("/newer.yaml".into()), vec![]));

    let explicit = place.write("explicit.yaml");
    assert_eq!(place.search(Some(&explicit)), (Some("/explicit.yaml".into()), vec![]));

    place.write("here/relative.yaml");
    let relative = Path::new("relative.yaml");
    assert_eq!(place.search(Some(relative)), (Some("/here/relative.yaml".into()), vec![]));
}

#[test]
fn untrusted_files_are_named_and_passed_over() {
    let place = ConfigFolder::new();
    place.write("here/onecall.yaml");
    place.write("here/config.yaml");
    let both = vec![untrusted("onecall.yaml"), untrusted("config.yaml")];
    assert_eq!(place.search(None), (None, both.clone()));

    place.write("config/onecall/config.yaml");
    assert_eq!(place.search(None), (Some("/config/onecall/config.yaml".into()), both));

    place.trust("here/config.yaml");
    let one = vec![untrusted("onecall.yaml")];
    assert_eq!(place.search(None), (Some("/here/config.yaml".into()), one));
}

#[test]
fn a_changed_file_is_untrusted_again() {
    let place = ConfigFolder::new();
    place.write("here/onecall.yaml");
    place.trust("here/onecall.yaml");
    fs::write(place.path("here/onecall.yaml"), "servers: {a: {command: evil}}").unwrap();
    let warning = "'/here/onecall.yaml' is not read: it has changed since you trusted it; read it yourself, then run `onecall trust /here/onecall.yaml`";
    assert_eq!(place.search(None), (None, vec![warning.to_owned()]));
}

#[test]
fn a_damaged_store_trusts_nothing() {
    let place = ConfigFolder::new();
    place.write("here/config.yaml");
    place.trust("here/config.yaml");
    fs::write(place.path("state/onecall/trusted.json"), "{").unwrap();
    let warnings = vec![
        "the trust store '/state/onecall/trusted.json' is damaged and counts as empty; trust your files again with `onecall trust`".to_owned(),
        "'/here/config.yaml' is not read: it is not trusted; read it yourself, then run `onecall trust /here/config.yaml`".to_owned(),
    ];
    assert_eq!(place.search(None), (None, warnings));
}

#[test]
fn json_is_not_searched_for_and_directories_are_no_files() {
    let place = ConfigFolder::new();
    place.write("here/onecall.json");
    place.write("here/config.json");
    fs::create_dir(place.path("here/config.yaml")).unwrap();
    assert_eq!(place.search(None), (None, vec![]));
}

#[test]
fn a_named_file_must_exist() {
    let mut place = ConfigFolder::new();
    place.write("config/onecall/config.yaml");
    let message = |place: &ConfigFolder, explicit: Option<&Path>| {
        place.relative(&place.try_search(explicit).unwrap_err().to_string())
    };
    let missing = |origin: &str| {
        format!(
            "configuration file '/here/no.yaml' (from {origin}) does not exist; correct the path or create the file"
        )
    };
    let path = Path::new("no.yaml");
    assert_eq!(message(&place, Some(path)), missing("--config"));
    for variable in ["PTC_MCP_CONFIG", "ONECALL_CONFIG"] {
        place.variables.insert(variable.into(), "no.yaml".into());
        assert_eq!(message(&place, None), missing(variable));
    }
    for variable in ["PTC_MCP_CONFIG", "ONECALL_CONFIG"] {
        place.variables.insert(variable.into(), String::new());
    }
    assert_eq!(place.search(None).0, Some("/config/onecall/config.yaml".into()));
}

#[test]
fn files_that_cannot_be_used() {
    let place = ConfigFolder::new();
    let large = place.path("large.yaml");
    fs::write(&large, vec![b'#'; 4 * 1024 * 1024 + 1]).unwrap();
    let error = place.try_search(Some(&large)).unwrap_err().to_string();
    assert_eq!(
        place.relative(&error),
        "configuration file '/large.yaml' is larger than 4 MiB; check that it is the right file"
    );
    let error = place.try_search(Some(&place.path("here"))).unwrap_err();
    assert!(matches!(error, ConfigError::Unreadable { .. }), "{error}");
}

#[test]
fn directories_of_the_user() {
    let directories = |variables: &[(&str, &str)]| {
        Directories::from_environment(&|name| {
            let value = variables.iter().find(|(key, _)| *key == name);
            value.map(|(_, value)| (*value).to_owned())
        })
    };
    let expected = |config: Option<&str>, state: Option<&str>| Directories {
        config: config.map(PathBuf::from),
        state: state.map(PathBuf::from),
    };
    assert_eq!(directories(&[]), expected(None, None));
    assert_eq!(
        directories(&[("HOME", "/h")]),
        expected(Some("/h/.config"), Some("/h/.local/state"))
    );
    assert_eq!(
        directories(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_STATE_HOME", "relative")]),
        expected(Some("/c"), Some("/h/.local/state"))
    );
}
