//! The mix of programs, each with a number that must be in its answer.

use serde_json::{Value, json};

const SUCCESS: &str = "[Script executed successfully]\n";
const FAILURE: &str = "[Script execution failed]\n";

/// The memory that only a worker uses which waits to be killed.
pub const VICTIM_BYTES: u64 = 150 << 20;

/// A program and its expected answer.
pub struct Program {
    pub arguments: Value,
    expected: Expected,
    /// Whether its time depends on others, so that it is not counted.
    waits: bool,
}

/// The expected answer.
enum Expected {
    Exactly(String),
    /// One of these, if a server may be down.
    Either([String; 2]),
    /// Text that begins like this; the rest is the position in the program.
    Beginning(String),
}

/// The number of kinds, which take turns.
const KINDS: u64 = 12;

impl Program {
    /// The program with this number, which occurs in everything it does.
    pub fn new(number: u64) -> Self {
        let nonce = format!("n{number}n");
        let success = |text: &str| Expected::Exactly(format!("{SUCCESS}{text}\n"));
        match number % KINDS {
            0 => Self::python(&format!("print('{nonce}')"), success(&nonce)),
            1 => Self::python(
                &format!("print('{nonce}', await mcp__steady__add(a={number}, b=1))"),
                success(&format!("{nonce} {}", number + 1)),
            ),
            2 => Self::typescript(
                &format!(
                    "const sum: number = await mcp__steady__add({{ a: {number}, b: 2 }})\nconsole.log('{nonce}', sum)"
                ),
                success(&format!("{nonce} {}", number + 2)),
            ),
            3 => Self::python(
                &format!(
                    "import asyncio\ncalls = [mcp__steady__echo(value='{nonce}') for _ in range(20)]\n\
                     print(set(await asyncio.gather(*calls)) == {{'{nonce}'}}, '{nonce}')"
                ),
                success(&format!("True {nonce}")),
            ),
            4 => Self::typescript(
                &format!(
                    "const calls = Array.from({{ length: 20 }}, () => mcp__noisy__echo({{ value: '{nonce}' }}))\n\
                     console.log(new Set(await Promise.all(calls)).size, '{nonce}')"
                ),
                success(&format!("1 {nonce}")),
            ),
            5 => Self::python(
                &format!("rows = await mcp__steady__rows(count=2000)\nprint(len(rows), '{nonce}')"),
                success(&format!("2000 {nonce}")),
            ),
            6 => Self::python(
                &format!("raise SystemExit('{nonce}')"),
                Expected::Exactly(format!("{FAILURE}SystemExit: {nonce}")),
            ),
            7 => Self::python(
                &format!(
                    "try:\n    print(await mcp__flaky__echo(value='{nonce}'))\nexcept ToolError:\n    print('{nonce} failed')"
                ),
                Expected::Either([
                    format!("{SUCCESS}{nonce}\n"),
                    format!("{SUCCESS}{nonce} failed\n"),
                ]),
            ),
            8 => Self::typescript(
                &format!("throw new Error('{nonce}')"),
                Expected::Exactly(format!(
                    "{FAILURE}<program>:1:11\nthrow new Error('{nonce}')\n          ^\n\
                     Error: {nonce}\n    at <program>:1:11"
                )),
            ),
            9 => Self::python(
                &format!("print(await mcp__slow__sleep(ms=100), '{nonce}')"),
                success(&format!("slept {nonce}")),
            ),
            10 => Self::python(
                &format!("for n in range(200): print(n, '{nonce}')"),
                Expected::Exactly(format!(
                    "{SUCCESS}{}",
                    (0..200).map(|n| format!("{n} {nonce}\n")).collect::<String>()
                )),
            ),
            _ => Self::python(
                "import os\nos._exit(3)",
                Expected::Beginning(format!("{FAILURE}the program ended its own process")),
            ),
        }
    }

    /// The next program of a session, whose counter is `count` afterwards.
    pub fn in_session(session: &str, count: u64) -> Self {
        let code = "count = globals().get('count', 0) + 1\nprint('count', count)";
        let arguments = json!({ "code": code, "session": session });
        let expected = Expected::Exactly(format!("{SUCCESS}count {count}\n"));
        Self { arguments, expected, waits: false }
    }

    /// A program that crashes the server it calls.
    pub fn crash(number: u64) -> Self {
        let code = format!(
            "try:\n    await mcp__flaky__crash()\nexcept ToolError:\n    print('crashed n{number}n')"
        );
        Self::python(&code, Expected::Exactly(format!("{SUCCESS}crashed n{number}n\n")))
    }

    /// A program that waits to be killed.
    pub fn victim() -> Self {
        let code = format!("ballast = b'x' * {VICTIM_BYTES}\nawait mcp__slow__sleep(ms=600000)");
        let expected = format!("{FAILURE}the program's process was ended by SIGKILL");
        Self { waits: true, ..Self::python(&code, Expected::Beginning(expected)) }
    }

    /// A program whose client will disconnect.
    pub fn abandoned() -> Self {
        let code = "await mcp__slow__sleep(ms=600000)";
        Self::python(code, Expected::Exactly("nothing".to_owned()))
    }

    fn python(code: &str, expected: Expected) -> Self {
        Self { arguments: json!({ "code": code }), expected, waits: false }
    }

    fn typescript(code: &str, expected: Expected) -> Self {
        let arguments = json!({ "code": code, "language": "typescript" });
        Self { arguments, expected, waits: false }
    }

    /// Whether the time until its answer is counted.
    pub fn is_timed(&self) -> bool {
        !self.waits
    }

    /// Checks an answer; the error says what is wrong with it.
    pub fn check(&self, answer: &str) -> Result<(), String> {
        let is_right = match &self.expected {
            Expected::Exactly(text) => answer == text,
            Expected::Either(texts) => texts.iter().any(|text| answer == text),
            Expected::Beginning(text) => answer.starts_with(text.as_str()),
        };
        if is_right {
            return Ok(());
        }
        let answer: String = answer.chars().take(300).collect();
        Err(format!("{} was answered with: {answer}", self.arguments))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_to_another_program_is_wrong() {
        for number in 0..KINDS - 1 {
            let other = Program::new(number + KINDS);
            let answers = match other.expected {
                Expected::Exactly(text) | Expected::Beginning(text) => vec![text],
                Expected::Either(texts) => texts.to_vec(),
            };
            for answer in answers {
                assert!(Program::new(number).check(&answer).is_err(), "{number}: {answer}");
            }
        }
    }
}
