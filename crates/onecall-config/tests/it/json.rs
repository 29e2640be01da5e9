//! JSON is read as JSON, whatever the file is called.

use std::path::Path;

use onecall_config::{Config, Transport};

fn parse(text: &str, file: &str) -> Result<Config, String> {
    Config::parse(text, Path::new(file), &|_| None).map_err(|errors| errors.to_string())
}

fn first_arg(text: &str) -> String {
    let config = parse(text, "onecall.yaml").unwrap();
    match &config.servers.first().unwrap().transport {
        Transport::Stdio(stdio) => stdio.args.first().unwrap().clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_json_allows() {
    let rows = [
        (r#"{"servers":{"a":{"command":"x","args":["a\/b"]}}}"#, "a/b"),
        (r#"{"servers":{"a":{"command":"x","args":["\ud83d\ude00"]}}}"#, "😀"),
        (r#"{"servers":{"a":{"command":"x","args":["\u00e9\t\\\""]}}}"#, "é\t\\\""),
        ("{\n\t\"servers\":\t{\"a\":\t{\"command\":\"x\",\t\"args\":[\t\"t\"]}}}\r\n", "t"),
        ("\u{feff}{\"servers\":{\"a\":{\"command\":\"x\",\"args\":[\"bom\"]}}}", "bom"),
        ("\u{feff}\r\n {\"servers\":{\"a\":{\"command\":\"x\",\"args\":[\"ws\"]}}}", "ws"),
        (r#"{"servers":{"a":{"command":"x","args":[-1.50E+2]}}}"#, "-1.50E+2"),
        (r##"{"servers":{"a":{"command":"x","args":["# no comment: x"]}}}"##, "# no comment: x"),
        // Not JSON, but YAML.
        ("{servers: {a: {command: x, args: [yaml,]}}}", "yaml"),
        ("{\"servers\": {a: {command: x, args: [\"c\"]}}} # comment", "c"),
    ];
    for (text, expected) in rows {
        assert_eq!(first_arg(text), expected, "{text}");
    }
}

#[test]
fn problems_have_positions() {
    let text = "{\n\t\"servers\": {\n\t\t\"ünï\": {\"comand\": \"x\"},\n\t\t\"b\": {\"command\": 1},\n\t\t\"b\": {}\n\t}\n}";
    insta::assert_snapshot!(parse(text, "a.json").unwrap_err(), @r#"
    a.json:3:3: server 'ünï' has neither a 'command' nor a 'url'
    a.json:3:11: unknown key 'comand' in server 'ünï'
      help: did you mean 'command'?
    a.json:4:20: 'command' of server 'b' must be text, not a number
      help: put it in quotes
    a.json:5:3: key 'b' is given twice, on line 4 and on line 5
      help: remove or rename one of them
    "#);
}

#[test]
fn broken_json() {
    let rows = [
        ("{\n\"servers\": {\n}", "a.json:3:1: not valid JSON: EOF while parsing an object"),
        ("{\"servers\": [}\n", "a.json:1:14: not valid JSON: expected value"),
        ("{\n\"é😀\" 1}", "a.json:2:6: not valid JSON: expected `:`"),
        ("{\"servers\": \"\\ud800\"}", "a.json:1:13: not valid JSON: unexpected end of hex escape"),
    ];
    for (text, expected) in rows {
        assert_eq!(parse(text, "a.json").unwrap_err(), expected, "{text}");
    }
}
