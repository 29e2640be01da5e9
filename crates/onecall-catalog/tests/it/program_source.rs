//! The form in which programs are checked and run: what is a program already stays as it is, and
//! every line keeps its number.

use onecall_catalog::ParsedProgram;
use onecall_core::Language;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;

/// Pieces of lines that open, close or continue something.
const PIECES: &[&str] = &[
    "```",
    "```python",
    "~~~",
    "~~~py",
    "'''",
    "\"\"\"",
    "f'''",
    "{x}",
    "'",
    "# note",
    "x = 1",
    "x",
    "if x:",
    "(",
    ")",
    "[",
    "]",
    "\\",
    ";",
    "é",
    "\r",
    "\u{c}",
    "return",
    "",
    " ",
    "    ",
    "\t",
];

fn program() -> impl Strategy<Value = String> {
    let line = (select(vec!["", "  ", "    ", "\t"]), vec(select(PIECES), 0..3));
    vec(line, 0..8).prop_map(|lines| {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|(margin, pieces)| format!("{margin}{}", pieces.concat()))
            .collect();
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn lines_keep_their_numbers(code in program()) {
        for language in [Language::Python, Language::TypeScript] {
            let normal = ParsedProgram::of_text(&code, language);
            prop_assert_eq!(normal.source().split('\n').count(), code.split('\n').count());
        }
    }

    #[test]
    fn a_program_stays_as_it_is(code in program()) {
        if ParsedProgram::new(&code, Language::Python).findings(&|_: &str| None).is_empty() {
            let program = ParsedProgram::of_text(&code, Language::Python);
            prop_assert_eq!(program.source(), code.as_str());
        }
    }

    #[test]
    fn an_indented_program_loses_its_indentation(code in program(), margin in select(vec!["  ", "\t"])) {
        // A line that goes on from a string, a bracket or a backslash may stand anywhere.
        let is_simple = !code.contains(['\'', '"', '\\', '\r', '\u{c}', '(', '[', '{', '#']);
        let is_program = ParsedProgram::new(&code, Language::Python).findings(&|_: &str| None).is_empty();
        if is_simple && is_program && !code.trim().is_empty() {
            let indented: Vec<String> = code.split('\n').map(|line| format!("{margin}{line}")).collect();
            let expected: Vec<&str> =
                code.split('\n').map(|line| if line.trim().is_empty() { "" } else { line }).collect();
            let indented = indented.join("\n");
            let program = ParsedProgram::of_text(&indented, Language::Python);
            prop_assert_eq!(program.source(), expected.join("\n"));
        }
    }
}
