//! Compares what a program says about its effects with what the server has seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::programs::TestProgram;

/// What an error says about a call that was not sent, because its intent could not be stored.
const NOT_SENT: &str = "it was not called, because";

/// The effects that the server has seen.
#[derive(Default)]
pub struct Effects {
    /// How often each effect happened, by its id.
    seen: BTreeMap<String, Seen>,
    /// Whether calls may fail because their intents cannot be stored.
    allows_unsent: bool,
}

struct Seen {
    tool: String,
    number: u64,
    times: usize,
}

impl Effects {
    /// Reads the file of the server.
    pub fn read(file: &Path) -> Self {
        Self::of(&fs::read_to_string(file).unwrap_or_default())
    }

    /// From now on, a program may report calls that were not sent because the store could not be reached.
    pub fn allow_unsent_calls(mut self) -> Self {
        self.allows_unsent = true;
        self
    }

    /// The effects in the text of a file; a last line that is half written is left out.
    fn of(text: &str) -> Self {
        let mut effects = Self::default();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let [tool, id, number] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("not a line of an effect: {line}")
            };
            let number = number.parse().expect("the number of an effect");
            let new = || Seen { tool: tool.to_owned(), number, times: 0 };
            effects.seen.entry(id.to_owned()).or_insert_with(new).times += 1;
        }
        effects
    }

    /// The number that the effect answered, if it happened.
    pub fn number(&self, id: &str) -> Option<u64> {
        self.seen.get(id).map(|seen| seen.number)
    }

    /// What is wrong with the answer of a program.
    pub fn faults(&self, program: &TestProgram, answer: &str) -> Vec<String> {
        match program.form.is_answer_of_tool() {
            true => self.faults_of_plan(program, answer),
            false => self.faults_of_program(program, answer),
        }
    }

    fn faults_of_program(&self, program: &TestProgram, answer: &str) -> Vec<String> {
        let Some(output) = answer.strip_prefix("[Script executed successfully]\n") else {
            if self.is_unsent(answer) {
                return self.faults_of_failed_program(program, answer);
            }
            return vec![format!("it failed: {answer}")];
        };
        let mut faults = Vec::new();
        let mut reported = Vec::new();
        let mut lines: Vec<&str> = output.lines().collect();
        if lines.pop() != Some("end") {
            faults.push("it did not come to its end".to_owned());
        }
        for line in lines {
            let times = |id: &str| self.seen.get(id).map_or(0, |seen| seen.times);
            let (id, is_right) = match line.split(' ').collect::<Vec<_>>()[..] {
                ["done", id, number] => {
                    let repeatable = self.seen.get(id).is_some_and(|seen| seen.tool == "note");
                    let is_number =
                        self.number(id).map(|it| it.to_string()).as_deref() == Some(number);
                    (id, is_number && (times(id) == 1 || repeatable))
                }
                ["denied", id] => (id, times(id) == 0),
                ["failed", .., id] if self.is_unsent(line) => (id, times(id) == 0),
                ["late", id] => (id, times(id) <= 1),
                _ => {
                    faults.push(format!("it printed '{line}'"));
                    continue;
                }
            };
            reported.push(id);
            if !is_right {
                faults.push(format!("'{line}', but it happened {} times", times(id)));
            }
        }
        if reported.len() != program.form.effects() {
            let expected = program.form.effects();
            faults.push(format!("it reports {} effects instead of {expected}", reported.len()));
        }
        let own = self.own(program).map(|(id, _)| id);
        let unknown = own.filter(|id| !reported.contains(&id.as_str()));
        faults.extend(unknown.map(|id| format!("it knows nothing about '{id}', which happened")));
        if !faults.is_empty() {
            faults.push(format!("its answer: {answer}"));
        }
        faults
    }

    /// A program that ended because a call was not sent has reported all effects before.
    fn faults_of_failed_program(&self, program: &TestProgram, answer: &str) -> Vec<String> {
        let mut faults = self.repeated(program);
        let is_reported = |id: &str| answer.lines().any(|line| line.split(' ').nth(1) == Some(id));
        let unknown = self.own(program).filter(|(id, _)| !is_reported(id));
        faults.extend(
            unknown.map(|(id, _)| format!("it knows nothing about '{id}', which happened")),
        );
        if !faults.is_empty() {
            faults.push(format!("its answer: {answer}"));
        }
        faults
    }

    /// Whether a text says that a call was not sent because the store could not be reached.
    fn is_unsent(&self, text: &str) -> bool {
        self.allows_unsent && text.contains(NOT_SENT)
    }

    fn own<'a>(&'a self, program: &'a TestProgram) -> impl Iterator<Item = (&'a String, &'a Seen)> {
        self.seen.iter().filter(|(id, _)| id.starts_with(&program.prefix))
    }

    /// The effects of a program that happened more than once.
    fn repeated(&self, program: &TestProgram) -> Vec<String> {
        self.own(program)
            .filter(|(_, seen)| seen.times != 1 && seen.tool != "note")
            .map(|(id, seen)| format!("'{id}' happened {} times", seen.times))
            .collect()
    }

    /// A plan answers with its last effect. If a call was denied, it did not happen, and neither did those that
    /// wait for it.
    fn faults_of_plan(&self, program: &TestProgram, answer: &str) -> Vec<String> {
        let own: Vec<_> = self.own(program).collect();
        let mut faults = self.repeated(program);
        let (was_denied, is_unsent) = (answer.contains("was denied"), self.is_unsent(answer));
        let expected = match was_denied {
            true => program.form.effects_before_denial(),
            false => program.form.effects(),
        };
        let is_complete = if is_unsent { own.len() < expected } else { own.len() == expected };
        if !is_complete {
            faults.push(format!("{} effects happened instead of {expected}", own.len()));
        }
        if was_denied && own.iter().any(|(_, seen)| seen.tool == "sensitive") {
            faults.push("a call happened that was denied".to_owned());
        }
        let result: Value = serde_json::from_str(answer).unwrap_or_default();
        let id = result["id"].as_str().unwrap_or_default();
        if !was_denied
            && !is_unsent
            && (self.number(id).is_none() || self.number(id) != result["number"].as_u64())
        {
            faults.push("it answers something else than its last effect".to_owned());
        }
        if !faults.is_empty() {
            faults.push(format!("its answer: {answer}"));
        }
        faults
    }
}

#[test]
fn an_effect_that_happened_twice_is_noticed() {
    let program = TestProgram::new(10, &["python"]);
    let answer = r#"{"id":"p10.x","number":7}"#;
    let once = "sensitive p10.x 7\n";
    assert_eq!(Effects::of(once).faults(&program, answer), Vec::<String>::new());
    for wrong in [once.repeat(2).as_str(), "", "sensitive p10.x 8\n", "sensitive p10.y 7\n"] {
        assert!(!Effects::of(wrong).faults(&program, answer).is_empty(), "{wrong}");
    }
}

#[test]
fn a_denied_plan_has_had_the_effects_before() {
    let program = TestProgram::new(6, &["python"]);
    let answer = "'mcp__counting__sensitive' failed: the call was denied: not now";
    let seen = "effect p6.1 1\nlate_effect p6.2 2\neffect p6.3 3\n";
    assert_eq!(Effects::of(seen).faults(&program, answer), Vec::<String>::new());
    let denied = "sensitive p6.4 4\n";
    for wrong in ["", &seen[14..], &format!("{seen}{denied}"), &format!("{}{denied}", &seen[14..])]
    {
        assert!(!Effects::of(wrong).faults(&program, answer).is_empty(), "{wrong}");
    }
}

#[test]
fn a_report_that_differs_from_what_happened_is_noticed() {
    let program = TestProgram::new(4, &["python"]);
    let answer =
        "[Script executed successfully]\nlate p4.a\ndone p4.b 5\ndenied p4.c\nlate p4.d\nend\n";
    let seen = "late_effect p4.a 1\neffect p4.b 5\n";
    assert_eq!(Effects::of(seen).faults(&program, answer), Vec::<String>::new());
    let wrong = [
        (seen.to_owned() + "effect p4.b 5\n", answer.to_owned()),
        (seen.to_owned() + "sensitive p4.c 5\n", answer.to_owned()),
        (seen.to_owned() + "effect p4.e 5\n", answer.to_owned()),
        (seen.to_owned(), answer.replace("b 5", "b 6")),
        (seen.to_owned(), answer.replace("late p4.d\n", "")),
        (seen.to_owned(), answer.replace("end\n", "")),
    ];
    for (seen, answer) in wrong {
        assert!(!Effects::of(&seen).faults(&program, &answer).is_empty(), "{seen}{answer}");
    }
}

#[test]
fn a_call_that_was_reported_as_not_sent_must_not_have_happened() {
    let program = TestProgram::new(13, &["python"]);
    let refused = format!("failed ('effect' failed: {NOT_SENT} it cannot be stored) p13.a");
    let answer =
        format!("[Script executed successfully]\n{refused}\ndone p13.b 5\ndone p13.c 6\nend\n");
    let seen = "effect p13.b 5\neffect p13.c 6\n";
    let faults = |seen: &str| Effects::of(seen).allow_unsent_calls().faults(&program, &answer);
    assert_eq!(faults(seen), Vec::<String>::new());
    assert!(!faults(&format!("effect p13.a 4\n{seen}")).is_empty());
    assert!(!Effects::of(seen).faults(&program, &answer).is_empty());
    // The program does not catch the error.
    let failed =
        format!("[Script execution failed]\ndone p13.b 5\n'effect' failed: {NOT_SENT} it cannot");
    let faults = |seen: &str| Effects::of(seen).allow_unsent_calls().faults(&program, &failed);
    assert_eq!(faults("effect p13.b 5\n"), Vec::<String>::new());
    assert!(!faults("effect p13.b 5\neffect p13.b 5\n").is_empty());
    assert!(!faults("effect p13.b 5\neffect p13.c 6\n").is_empty());
}
