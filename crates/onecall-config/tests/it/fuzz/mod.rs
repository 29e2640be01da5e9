//! Configurations by the thousand: valid ones mean what they were generated from, and
//! whatever else a file holds, the answer comes soon and names a line of the file.

mod document;
mod model;
#[path = "../../../../../tests/hostile/mutation.rs"]
mod mutation;
mod spoiling;
mod text;
mod writing;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use onecall_config::{Config, ConfigErrors, ConfigOrigin, Environment, FoundConfigFile};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use document::hostile_document;
use model::configuration;
use mutation::mutated;
use spoiling::mistake;
use text::{SECRET, environment};
use writing::style;

/// Far more than any file needs, so that a busy machine does not matter; a file whose
/// cost grows with the square of its size takes longer.
const TIME_LIMIT: Duration = Duration::from_secs(10);

const FILES: [&str; 2] = ["/etc/onecall/c.yaml", "/etc/onecall/c.json"];

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

/// Parses `bytes` under each name and checks what holds for all of them.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    for file in FILES {
        let start = Instant::now();
        let result = Config::parse_bytes(bytes, Path::new(file), &environment);
        prop_assert!(start.elapsed() < TIME_LIMIT, "it took {:?}", start.elapsed());
        if let Err(errors) = result {
            check_errors(&errors, file, bytes)?;
        }
        check_as_ptc_mcp(file, bytes)?;
    }
    Ok(())
}

/// Reads `bytes` as a file that was found in the way of ptc-mcp.
fn check_as_ptc_mcp(file: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (path, origin) = (PathBuf::from(file), ConfigOrigin::Named("PTC_MCP_CONFIG"));
    let found = FoundConfigFile { path, bytes: bytes.to_vec(), origin };
    let start = Instant::now();
    let result = found.parse(&Environment::new(&environment));
    prop_assert!(start.elapsed() < TIME_LIMIT, "it took {:?}", start.elapsed());
    match result {
        Ok(parsed) => {
            let shown = parsed.warnings.join("\n");
            prop_assert!(!shown.contains(SECRET), "a secret is in:\n{}", shown);
        }
        Err(errors) => check_errors(&errors, file, bytes)?,
    }
    Ok(())
}

fn check_errors(errors: &ConfigErrors, file: &str, bytes: &[u8]) -> Result<(), TestCaseError> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    prop_assert!(!errors.problems().is_empty());
    let shown = errors.to_string();
    for problem in errors.problems() {
        let (line, column) = (problem.line, problem.column);
        // A carriage return alone ends a line in YAML, but not in JSON.
        let is_in_text = is_within(line, column, text.split('\n'))
            || is_within(line, column, text.split(['\n', '\r']));
        prop_assert!(is_in_text, "{}:{} is not in the file:\n{}", line, column, shown);
        let start = format!("{file}:{line}:{column}: {}", problem.message);
        prop_assert!(shown.contains(&start), "{} is not in:\n{}", start, shown);
    }
    prop_assert!(!shown.contains(SECRET), "a secret is in:\n{}", shown);
    Ok(())
}

/// Whether there is such a place, or it is just behind the end of a line.
fn is_within<'t>(line: usize, column: usize, mut lines: impl Iterator<Item = &'t str>) -> bool {
    let text = line.checked_sub(1).and_then(|before| lines.nth(before));
    text.is_some_and(|text| (1..=text.chars().count() + 1).contains(&column))
}

fn written() -> impl Strategy<Value = Vec<u8>> {
    (configuration(), style())
        .prop_map(|(configuration, style)| configuration.written(style).into_bytes())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_valid_configuration_means_what_it_says(
        configuration in configuration(),
        style in style(),
    ) {
        let text = configuration.written(style);
        match Config::parse_bytes(text.as_bytes(), Path::new(FILES[0]), &environment) {
            Ok(config) => prop_assert!(
                config == configuration.expected,
                "{text}\nmeans\n{config:#?}\nand not\n{:#?}",
                configuration.expected
            ),
            Err(errors) => prop_assert!(false, "{text}\n{errors}"),
        }
    }

    #[test]
    fn any_bytes_have_an_answer(bytes in vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
    }

    #[test]
    fn any_text_has_an_answer(text in any::<String>()) {
        check(text.as_bytes())?;
    }

    #[test]
    fn a_damaged_configuration_has_an_answer(bytes in mutated(written())) {
        check(&bytes)?;
    }

    #[test]
    fn a_configuration_with_mistakes_has_an_answer(
        mut configuration in configuration(),
        mistakes in vec((any::<Index>(), mistake()), 1..5),
        style in style(),
    ) {
        for (at, mistake) in mistakes {
            configuration.insert_mistake(at, mistake);
        }
        check(configuration.written(style).as_bytes())?;
    }

    #[test]
    fn a_hostile_document_has_an_answer(
        text in hostile_document(),
        bytes in mutated(hostile_document().prop_map(String::into_bytes)),
    ) {
        check(text.as_bytes())?;
        check(&bytes)?;
    }
}
