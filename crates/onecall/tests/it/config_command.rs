//! The configuration is found, read, changed and edited by `onecall config`.

use insta::assert_snapshot;

use crate::support::{CommandResult, Home, finish};

const CONFIG: &str = "\
# top
servers:
  - name: a
    command: x # c
    env: { A: '1' }
# the engine
engine: python # built in
execution:
  # how long
  timeout_seconds: 20

tools:
";

fn ended(home: &Home, arguments: &[&str], variables: &[(&str, &str)]) -> CommandResult {
    let mut command = home.onecall(arguments);
    command.envs(variables.iter().copied());
    let mut ended = finish(command);
    let short = |text: &str| text.replace(&home.text_path(""), "[home]/");
    (ended.stdout, ended.stderr) = (short(&ended.stdout), short(&ended.stderr));
    ended
}

fn config(home: &Home, arguments: &[&str]) -> CommandResult {
    let file = home.text_path("c.yaml");
    ended(home, &[&["--config", &file, "config"], arguments].concat(), &[])
}

fn read(home: &Home) -> String {
    std::fs::read_to_string(home.path("c.yaml")).unwrap()
}

fn assert_output(ended: CommandResult, code: i32, stdout: &str, stderr: &str) {
    let expected =
        CommandResult { code: Some(code), stdout: stdout.to_owned(), stderr: stderr.to_owned() };
    assert_eq!(ended, expected);
}

#[test]
fn the_file_that_is_read_and_why() {
    let home = Home::new();
    let path = |variables: &[(&str, &str)]| ended(&home, &["config", "path"], variables);
    let own = "[home]/home/config/onecall/config.yaml\n";
    let none = "There is no configuration yet; `onecall init` or `onecall add` makes this file.\n";
    assert_output(path(&[]), 1, own, none);
    home.write("home/config/onecall/config.yaml", CONFIG);
    assert_output(
        path(&[]),
        0,
        own,
        "It is read because it is the one in your configuration directory.\n",
    );
    home.write("c.yaml", CONFIG);
    let file = home.text_path("c.yaml");
    let named = "It is read because $ONECALL_CONFIG names it.\n";
    assert_output(path(&[("ONECALL_CONFIG", &file)]), 0, "[home]/c.yaml\n", named);
    let named = "It is read because --config names it.\n";
    assert_output(config(&home, &["path"]), 0, "[home]/c.yaml\n", named);
    home.write("work/onecall.yaml", CONFIG);
    let untrusted = path(&[]);
    assert_eq!(untrusted.stdout, own);
    assert!(untrusted.stderr.starts_with("warning: '[home]/work/onecall.yaml' is not read"));
    assert_eq!(ended(&home, &["trust"], &[]).code, Some(0));
    let trusted = "It is read because it is in the working directory, and you have trusted it.\n";
    assert_output(path(&[]), 0, "[home]/work/onecall.yaml\n", trusted);
}

#[test]
fn values_are_read() {
    let home = Home::new();
    home.write("c.yaml", CONFIG);
    for (key, value) in [
        ("engine", "python\n"),
        ("execution.timeout_seconds", "20\n"),
        ("servers.a.command", "x\n"),
        ("servers.a.env", "{\n  \"A\": \"1\"\n}\n"),
    ] {
        assert_output(config(&home, &["get", key]), 0, value, "");
    }
    let absent = "'execution.engine' is not set in [home]/c.yaml; `onecall schema --markdown` lists \
                  the keys and their defaults\n";
    assert_output(config(&home, &["get", "execution.engine"]), 1, "", absent);
}

#[test]
fn values_are_set_in_place() {
    let home = Home::new();
    home.write("c.yaml", CONFIG);
    for (key, value) in [
        ("engine", "auto"),
        ("execution.timeout_seconds", "300"),
        ("execution.max_output_bytes", "1000"),
        ("servers.a.lazy", "true"),
        ("servers.a.command", "123"),
        ("tools.block", "[mcp__a__b]"),
        ("cache.scope", "run"),
    ] {
        let said = format!("Set '{key}' to {value} in [home]/c.yaml\n");
        assert_output(config(&home, &["set", key, value]), 0, "", &said);
    }
    assert_snapshot!(read(&home), @r#"
    # top
    servers:
      - name: a
        command: "123" # c
        env: { A: '1' }
        lazy: true
    # the engine
    engine: auto # built in
    execution:
      # how long
      timeout_seconds: 300
      max_output_bytes: 1000

    tools: { block: [mcp__a__b] }
    cache:
      scope: run
    "#);
    home.write("c.yaml", "{\"mcpServers\": {}}\n");
    assert_eq!(config(&home, &["set", "execution.timeout_seconds", "5"]).code, Some(0));
    assert_eq!(config(&home, &["set", "execution.timeout_seconds", "6"]).code, Some(0));
    assert_eq!(config(&home, &["set", "engine", "auto"]).code, Some(0));
    let json =
        "{\"mcpServers\": {}, \"execution\": { \"timeout_seconds\": 6 }, \"engine\": \"auto\"}\n";
    assert_eq!(read(&home), json);
}

#[test]
fn nothing_is_written_that_is_not_valid() {
    let home = Home::new();
    home.write("c.yaml", CONFIG);
    let mut said = String::new();
    for (key, value) in [
        ("engin", "auto"),
        ("engine", "5"),
        ("execution.timeout", "5"),
        ("servers.b.lazy", "true"),
        ("execution", "5"),
        ("a..b", "5"),
    ] {
        let ended = config(&home, &["set", key, value]);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        said.push_str(&ended.stderr);
        assert_eq!(read(&home), CONFIG);
    }
    assert_snapshot!(said);
}

#[test]
fn an_editor_is_opened_on_a_copy() {
    let home = Home::new();
    home.write("c.yaml", CONFIG);
    let file = home.text_path("c.yaml");
    let edit = |variables: &[(&str, &str)]| {
        ended(&home, &["--config", &file, "config", "edit"], variables)
    };
    let drafts = || {
        let files = std::fs::read_dir(home.path("")).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains(".edit-")).collect::<Vec<_>>()
    };
    let missing = "error: no editor is set; name one, as in `EDITOR=nano onecall config edit`\n";
    assert_output(edit(&[]), 2, "", missing);
    assert_output(edit(&[("EDITOR", "true")]), 0, "", "[home]/c.yaml was not changed\n");
    let failed = "error: nothing was changed: the editor 'false' ended with exit status: 1\n";
    assert_output(edit(&[("EDITOR", "false")]), 2, "", failed);
    let preferred = [("VISUAL", "sed -i s/python/auto/"), ("EDITOR", "false")];
    assert_output(edit(&preferred), 0, "", "Saved [home]/c.yaml\n");
    let saved = CONFIG.replace("python", "auto");
    assert_eq!((read(&home), drafts()), (saved.clone(), Vec::new()));
    let refused = edit(&[("EDITOR", "sed -i s/auto/nonsense/")]);
    assert_eq!((refused.code, read(&home)), (Some(2), saved));
    let [draft] = drafts().try_into().unwrap();
    let expected = format!(
        "error: nothing was changed; your text is in [home]/{draft}: [home]/c.yaml:7:9: 'nonsense' \
         is not an engine; it can be auto, python, cpython\n"
    );
    assert_eq!(refused.stderr, expected);
    let kept = std::fs::read_to_string(home.path(&draft)).unwrap();
    assert_eq!(kept, CONFIG.replace("python", "nonsense"));
}
