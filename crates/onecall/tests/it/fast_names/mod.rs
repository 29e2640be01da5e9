//! Programs do the same whether variables of their top level are local variables of their code or
//! not.

#![expect(clippy::print_stderr, reason = "a long run shows how far it is")]

mod examples;
mod generator;

use serde_json::{Value, json};

use crate::durable::number_from;
use crate::programs::sources;
use crate::support::{Gateway, Home, finish, has_system_python};

/// Generated programs in an ordinary test run.
const SHORT: u64 = 40;

/// Programs that run at the same time.
const AT_ONCE: usize = 8;

/// Keeps all variables of a program in its module: the program may look at them.
const OFF: &str = "\nif 0: locals()\n";

/// Prints the local variables of its code, and the variables that a library would find in its frame.
/// The check of a program does not see that it looks at itself.
const SHOWS_LOCALS: &str = "\
from operator import attrgetter
total = 0
for i in range(3): total += i
def f(): return kept
for kept in range(3): f()
try: 1 / 0
except ZeroDivisionError as error: frame = attrgetter('tb_' + 'frame')(error.__traceback__)
print(frame.f_code.co_varnames)
found = {**attrgetter('f_' + 'globals')(frame), **attrgetter('f_' + 'locals')(frame)}
print(found['total'], found['i'], found['kept'])
";

fn engines() -> Vec<&'static str> {
    if has_system_python() { vec!["python", "cpython"] } else { vec!["python"] }
}

/// What each of these programs answers.
fn answers(gateway: &mut Gateway, engine: &str, programs: &[String]) -> Vec<String> {
    let mut answers = Vec::new();
    for group in programs.chunks(AT_ONCE) {
        let start = |code: &String| {
            let arguments = json!({ "code": code, "engine": engine });
            gateway.session.start_call("execute_program", arguments)
        };
        let calls: Vec<_> = group.iter().map(start).collect();
        answers.extend(calls.into_iter().map(|call| gateway.session.finish_call(call).text));
    }
    answers
}

/// The programs that do something else with fast names, on any engine.
fn differences(programs: &[String]) -> Vec<String> {
    let mut gateway = Gateway::new();
    let mut differences = Vec::new();
    let without: Vec<String> = programs.iter().map(|code| format!("{code}{OFF}")).collect();
    for engine in engines() {
        let fast = answers(&mut gateway, engine, programs);
        let slow = answers(&mut gateway, engine, &without);
        for ((code, fast), slow) in programs.iter().zip(fast).zip(slow) {
            if fast != slow {
                differences.push(format!("on {engine}:\n{code}\nfast:\n{fast}\nslow:\n{slow}\n"));
            }
        }
    }
    differences
}

#[test]
fn variables_of_loops_are_local_variables() {
    let mut gateway = Gateway::new();
    for engine in engines() {
        let (fast, off) = (SHOWS_LOCALS.to_owned(), format!("{SHOWS_LOCALS}{OFF}"));
        let expected = |names: &str| format!("[Script executed successfully]\n{names}\n3 2 2\n");
        let expected = [expected("('total', 'i')"), expected("()")];
        assert_eq!(answers(&mut gateway, engine, &[fast, off]), expected, "on {engine}");
    }
}

#[test]
fn the_value_of_a_program_is_found() {
    let home = Home::with_config(&json!({ "servers": [] }));
    let value = |engine: &str, code: &str| {
        let run = ["run", "--json", "--engine", engine, "-e", code];
        let outcome = finish(home.onecall_with_config(&run)).stdout;
        serde_json::from_str::<Value>(&outcome).expect("an outcome is JSON")["return_value"].clone()
    };
    for engine in engines() {
        assert_eq!(value(engine, "s = 0\nfor i in range(4): s += i\ns"), 6);
        assert_eq!(value(engine, "result = 0\nfor i in range(4): result += i"), 6);
        assert_eq!(
            value(engine, "for i in range(4): await asyncio.sleep(0)\nprint()"),
            Value::Null
        );
    }
}

#[test]
fn examples_do_the_same() {
    let programs: Vec<String> =
        examples::PROGRAMS.iter().map(|it| it.trim_start().to_owned()).collect();
    let differences = differences(&programs);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn programs_of_the_corpus_do_the_same() {
    let differences = differences(&sources());
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn generated_programs_do_the_same() {
    let count = number_from("ONECALL_FAST_NAMES_PROGRAMS").unwrap_or(SHORT);
    let seed = number_from("ONECALL_FAST_NAMES_SEED").unwrap_or(1);
    let numbers: Vec<u64> = (0..count).map(|number| (seed << 32) + number).collect();
    for group in numbers.chunks(500) {
        let programs: Vec<String> = group.iter().map(|it| generator::program(*it)).collect();
        let differences = differences(&programs);
        assert!(differences.is_empty(), "{}", differences.join("\n"));
        eprintln!("{} of {count} programs", group.last().map_or(0, |it| it - (seed << 32) + 1));
    }
}
