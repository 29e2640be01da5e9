//! Sources that nest as deep as they can. Each would overflow a stack somewhere if it
//! were read without a bound.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use onecall_catalog::ParsedProgram;
use onecall_core::{Language, Resolution};
use proptest::prelude::*;

fn blocks(depth: usize) -> String {
    let mut source = String::new();
    for level in 0..depth {
        source.push_str(&" ".repeat(level));
        source.push_str("if 1:\n");
    }
    source + &" ".repeat(depth) + "pass\n"
}

/// A source of each shape, `depth` levels deep.
fn shapes(depth: usize) -> Vec<(&'static str, String)> {
    let wrapped = |open: &str, close: &str| open.repeat(depth) + "1" + &close.repeat(depth);
    let elif = "elif mcp__a__b:\n    pass\n";
    vec![
        ("parentheses", wrapped("(", ")")),
        ("open parentheses", "(".repeat(depth)),
        ("open parentheses on lines", "(\n".repeat(depth)),
        ("lists", wrapped("[", "]")),
        ("lists with commas", wrapped("[1, ", ", 1]")),
        ("dicts", wrapped("{1: ", "}")),
        ("calls", wrapped("mcp__a__b(", ")")),
        ("keyword arguments", wrapped("mcp__a__b(x=", ")")),
        ("minus", "-".repeat(depth) + "1"),
        ("not", "not ".repeat(depth) + "1"),
        ("await", "await ".repeat(depth) + "mcp__a__b()"),
        ("lambdas", "lambda: ".repeat(depth) + "1"),
        ("lambdas with commas", "lambda a, b: ".repeat(depth) + "1"),
        ("lambda defaults", "lambda a, b=".repeat(depth) + "1"),
        ("conditions", "1 if 1 else ".repeat(depth) + "1"),
        ("attributes", "a".to_owned() + &".b".repeat(depth)),
        ("subscripts", "a".to_owned() + &"[1, 2]".repeat(depth)),
        ("called calls", "mcp__a__b".to_owned() + &"()".repeat(depth)),
        ("sums", "1 + ".repeat(depth) + "1"),
        ("powers", "1 ** ".repeat(depth) + "1"),
        ("sums on lines", "(".to_owned() + &"1 +\n".repeat(depth) + "1)"),
        ("walrus", wrapped("(a := ", ")")),
        ("f-strings", "f'{".repeat(depth) + "1" + &"}'".repeat(depth)),
        ("format specs", "f'".to_owned() + &"{1:".repeat(depth) + &"}".repeat(depth) + "'"),
        ("elif", "if 1:\n    pass\n".to_owned() + &elif.repeat(depth)),
        ("comprehensions", wrapped("[x for x in ", "]")),
        ("patterns", "match 1:\n    case ".to_owned() + &wrapped("[", "]") + ":\n        pass"),
        ("stars", "*".repeat(depth) + "a"),
        ("decorators", "@".repeat(depth) + "a"),
        ("targets", "a = ".repeat(depth) + "1"),
        ("annotations", "a: ".repeat(depth) + "1"),
        ("classes on a line", "class A: ".repeat(depth)),
        ("mixed brackets", "([{".repeat(depth) + "1"),
        ("closers", ")".repeat(depth)),
    ]
}

fn read(source: &str) -> bool {
    let unknown = |_: &str| Some(Resolution::unknown(Vec::new()));
    let _ = ParsedProgram::new(source, Language::Python).findings(&unknown);
    ParsedProgram::new(source, Language::Python).tool_uses().is_some()
}

#[test]
fn the_deepest_sources_are_refused_or_read() {
    for depth in [10, 100, 300, 600, 1_000, 1_999, 5_000, 100_000] {
        for (_, source) in shapes(depth) {
            read(&source);
        }
    }
    for depth in [10, 100, 500, 999, 1_200, 3_000, 10_000] {
        // Beyond a megabyte nothing is read.
        read(&blocks(depth));
        read(&("(\n".to_owned() + &blocks(depth)));
    }
}

#[test]
fn what_is_read_on_any_stack_needs_little_of_it() {
    let work = || {
        for depth in 1..=100 {
            for (_, source) in shapes(depth) {
                read(&source);
            }
            read(&blocks(depth));
        }
    };
    thread::Builder::new().stack_size(1024 * 1024).spawn(work).unwrap().join().unwrap();
}

#[test]
fn what_people_write_is_read() {
    for (shape, source) in shapes(12) {
        let is_python = ruff_python_parser::parse_module(&source).is_ok();
        assert_eq!(read(&source), is_python, "{shape}");
    }
    let table = format!("rows = [\n{}]\n", "    {'a': [1, 2], 'b': ('x', -3)},\n".repeat(10_000));
    assert!(read(&table));
    assert!(read(&blocks(50)));
    assert!(!read(&format!("'{}'", "x".repeat(1024 * 1024))));
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(pieces in prop::collection::vec(piece(), 0..40)) {
        // A check that panics finds nothing, and the hook counts it. Other tests run beside this one.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let (usual, this) = (panic::take_hook(), thread::current().id());
            panic::set_hook(Box::new(move |info| {
                if thread::current().id() == this {
                    PANICS.fetch_add(1, Ordering::SeqCst);
                }
                usual(info);
            }));
        });
        let before = PANICS.load(Ordering::SeqCst);
        read(&pieces.concat());
        prop_assert_eq!(PANICS.load(Ordering::SeqCst), before);
    }
}

fn piece() -> impl Strategy<Value = String> {
    let words = [
        "mcp__a__b",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "await ",
        "x",
        " = ",
        "\n",
        "\n    ",
        "if ",
        ":",
        ",",
        "def f",
        "f'{",
        "}'",
        "'",
        "\"\"\"",
        "lambda ",
        "*",
        "**",
        "1",
        "-",
        ".",
        "for ",
        " in ",
        "é",
        "\r",
        "\0",
        "\\\n",
        "return ",
        "match ",
        "case ",
        "async ",
        "with ",
        "try",
        "except",
    ];
    prop_oneof![
        4 => prop::sample::select(words.to_vec()).prop_map(str::to_owned),
        1 => ".{0,3}",
    ]
}
