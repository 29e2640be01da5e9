//! Files made to take all memory, the whole stack or for ever.

use std::fmt::Write;
use std::path::Path;

use onecall_config::Config;

fn problem(text: &str) -> String {
    Config::parse(text, Path::new("c.yaml"), &|_| None).unwrap_err().to_string()
}

const ALIAS: &str = "the value that begins here uses an alias (*name)\n  help: aliases are not supported; write the value out in each place";

#[test]
fn aliases_are_refused() {
    let rows = [
        ("a: &a x\nb: *a\n", "c.yaml:1:1: "),
        ("servers:\n  - &a {name: a, command: x}\n  - *a\n", "c.yaml:2:3: "),
        ("*a : x", "c.yaml:1:1: not valid YAML: while parsing node, found unknown anchor"),
    ];
    for (text, expected) in rows {
        let expected = if expected.ends_with(' ') {
            format!("{expected}{ALIAS}")
        } else {
            expected.to_owned()
        };
        assert_eq!(problem(text), expected, "{text}");
    }
    let anchored = "servers: &servers {a: &a {command: x}}";
    assert!(Config::parse(anchored, Path::new("c.yaml"), &|_| None).is_ok());
}

#[test]
fn a_billion_laughs() {
    let mut text = String::from("a0: &a0 [lol, lol]\n");
    for level in 1..40 {
        let below = level - 1;
        writeln!(text, "a{level}: &a{level} [*a{below}, *a{below}, *a{below}]").unwrap();
    }
    assert_eq!(problem(&text), format!("c.yaml:2:5: {ALIAS}"));
}

#[test]
fn a_long_string_many_times() {
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(50_000));
    assert_eq!(problem(&text), format!("c.yaml:2:4: {ALIAS}"));
}

#[test]
fn deep_nesting() {
    let too_deep = |at: &str| {
        format!(
            "c.yaml:{at}: the file is nested more than 64 levels deep\n  help: a configuration needs five levels; check the brackets and the indentation"
        )
    };
    assert_eq!(problem(&"- ".repeat(1 << 20)), too_deep("1:1"));
    assert_eq!(problem(&format!("{}x", "? ".repeat(1 << 20))), too_deep("1:1"));
    assert_eq!(problem(&format!("a:\r{}x", "-\t".repeat(1 << 20))), too_deep("1:1"));
    assert_eq!(problem(&"- ".repeat(70)), too_deep("1:1"));
    let stairs: String = (0..1_000).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(problem(&stairs), too_deep("202:1"));
    let lists: String = (0..190).map(|level| format!("{0}a:\n{0}-\n", " ".repeat(level))).collect();
    assert_eq!(problem(&lists), too_deep("1:1"));
    let brackets = "[".repeat(1 << 20);
    assert_eq!(problem(&brackets), "c.yaml:1:256: not valid YAML: recursion limit exceeded");
    let pairs = format!("{}{}", "[a: ".repeat(250), "]".repeat(250));
    assert_eq!(problem(&pairs), too_deep("1:1"));
    let braces = |levels| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    assert_eq!(problem(&braces(100)), too_deep("1:1"));
    assert_eq!(
        problem(&braces(1 << 18)),
        "c.yaml:1:1276: not valid YAML: recursion limit exceeded"
    );
    let long_text = format!("servers: []\n# {}\n{}\n", "- ".repeat(500), " ".repeat(500));
    assert!(Config::parse(&long_text, Path::new("c.yaml"), &|_| None).is_ok());
}

/// Whatever stands between the indicators, nothing opens blocks without end on a line.
#[test]
fn deep_nesting_with_decorations() {
    for unit in [
        "- !t ",
        "- &a ",
        "!t - ",
        "? a: ",
        "a: ? ",
        "- a: ",
        "- 'a': ",
        "? !t ",
        "? &a ",
        "- ? : ",
        "-\u{a0}",
        "-\u{2028}",
        "-\u{85}- ",
    ] {
        let text = format!("{unit}x\n").replace(unit, &unit.repeat(1 << 17));
        let _ = Config::parse(&text, Path::new("c.yaml"), &|_| None);
    }
}

#[test]
fn many_problems_are_counted_not_kept() {
    let mut text = String::new();
    for index in 0..50_000 {
        writeln!(text, "k{index}: 1").unwrap();
    }
    let errors = Config::parse(&text, Path::new("c.yaml"), &|_| None).unwrap_err();
    assert_eq!(errors.problems().len(), 100);
    assert!(errors.to_string().ends_with("\nand 49900 more problems"));
}

/// Every prefix and many small damages of a valid file: any answer but a panic.
#[test]
fn damaged_files_do_not_panic() {
    let text = "servers:\n  - name: \"a\\tb\"\n    env: {A: 'x', B: !!int 3, ? c : &d e}\n    args: [1, 2.5, |]\n  - >-\n    folded\n# é\n... \n--- !t\n<<: *d\n";
    let characters: Vec<char> = text.chars().collect();
    for index in 0..characters.len() {
        let (head, tail) = characters.split_at(index);
        let head: String = head.iter().collect();
        for insert in [
            "", "\t", ":", "- ", "{", "]", "\"", "\0", "\u{feff}", "&", "*", "!", "%", "\r", "|",
            "?", "\\",
        ] {
            let rest: String = tail.iter().skip(1).collect();
            for candidate in [format!("{head}{insert}"), format!("{head}{insert}{rest}")] {
                let _ = Config::parse(&candidate, Path::new("c.yaml"), &|_| None);
            }
        }
    }
}
