//! Asks the person at the terminal about calls that wait for an approval, while a command runs a
//! program. If there is no person, it says how to answer from elsewhere.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};

use onecall_config::ApprovalSettings;
use onecall_core::storage::AnswerReceipt;
use onecall_core::text::{visible_json, visible_line};
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, ItemId, QuestionKind, Timestamp,
    Verdict,
};
use onecall_gateway::{Gateway, redactor};
use onecall_runtime::Redactor;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use crate::cli::Global;
use crate::commands::{answered, say};
use crate::formatting::{terminal_width, truncate_line};
use crate::system::user_name;
use crate::terminal::pause_spinner;

/// Runs `work`, and asks about every call of this process that begins to wait. From the first
/// question on, stdin is read.
pub(crate) fn while_asking<T>(
    gateway: &Gateway,
    global: &Global,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    let is_person = io::stdin().is_terminal() && io::stderr().is_terminal();
    // The future of a run is large, and would be copied into each future around it.
    run_with_questions(gateway, global, is_person, Box::pin(work))
}

/// Runs `work`, and says how to answer when a call of this process begins to wait.
pub(crate) fn while_telling<T>(
    gateway: &Gateway,
    global: &Global,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    run_with_questions(gateway, global, false, Box::pin(work))
}

async fn run_with_questions<T>(
    gateway: &Gateway,
    global: &Global,
    is_person: bool,
    work: impl Future<Output = T>,
) -> T {
    let Some(changes) = gateway.run_changes() else { return work.await };
    let config = global.loaded().map(|loaded| loaded.config.clone()).unwrap_or_default();
    let settings = config.approvals.clone().unwrap_or_default();
    let mut asking = TerminalQuestions {
        gateway,
        redactor: redactor(&config),
        can_ask: is_person && settings.allows(ApprovalWay::Cli),
        settings,
        changes,
        lines: None,
        asked: BTreeSet::new(),
    };
    tokio::select! {
        biased;
        done = work => done,
        () = asking.ask_forever() => std::future::pending().await,
    }
}

struct TerminalQuestions<'a> {
    gateway: &'a Gateway,
    redactor: Redactor,
    settings: ApprovalSettings,
    /// Whether a person is at the terminal and may answer.
    can_ask: bool,
    changes: watch::Receiver<u64>,
    /// The lines that the person types; absent until the first question.
    lines: Option<UnboundedReceiver<String>>,
    /// The questions that were shown.
    asked: BTreeSet<ItemId>,
}

impl TerminalQuestions<'_> {
    /// Asks until there are no more changes, which is when the gateway ends.
    async fn ask_forever(&mut self) {
        loop {
            for question in self.open_questions() {
                if !self.asked.insert(question.item.clone()) {
                    continue;
                }
                match self.can_ask {
                    true => self.ask(&question).await,
                    false => say(&self.how_to_answer(&question)),
                }
            }
            if self.changes.changed().await.is_err() {
                return;
            }
        }
    }

    fn open_questions(&self) -> Vec<ApprovalQuestion> {
        self.gateway.waiting_runs().into_iter().flat_map(|run| run.items).collect()
    }

    /// Asks about one call until it is answered, here or elsewhere.
    async fn ask(&mut self, question: &ApprovalQuestion) {
        let _paused = pause_spinner();
        // What was typed before the question is no answer to it.
        if let Some(lines) = &mut self.lines {
            while lines.try_recv().is_ok() {}
        }
        say(&format!("onecall: {}", self.described(question)));
        let arguments =
            visible_line(&self.redactor.redact(question.arguments.clone())).into_owned();
        say(&format!("  {}", truncate_line(&arguments, terminal_width().saturating_sub(2))));
        loop {
            prompt(question.kind);
            let Some(line) = self.line_for(&question.item).await else { return };
            match Reply::parse(question.kind, &line) {
                Some(Reply::Details) => say(&self.details(question)),
                Some(Reply::Verdict(verdict)) => return self.answer(question, verdict).await,
                None => say(how_to_reply(question.kind)),
            }
        }
    }

    /// The line that the person types; `None` if the question needs no answer any more, or nothing
    /// can be typed.
    async fn line_for(&mut self, item: &ItemId) -> Option<String> {
        let mut changes = self.changes.clone();
        loop {
            if !self.open_questions().iter().any(|open| open.item == *item) {
                say("\nonecall: the call was answered elsewhere, or needs no answer any more");
                return None;
            }
            let lines = self.lines.get_or_insert_with(read_lines);
            tokio::select! {
                line = lines.recv() => {
                    if line.is_none() {
                        self.can_ask = false;
                        let asked = self.open_questions().into_iter().find(|it| it.item == *item);
                        say("");
                        asked.inspect(|question| say(&self.how_to_answer(question)));
                    }
                    return line;
                }
                changed = changes.changed() => if changed.is_err() { return None },
            }
        }
    }

    async fn answer(&self, question: &ApprovalQuestion, verdict: Verdict) {
        let (by, at) = (user_name(), Timestamp::now());
        let answer = AnsweredVerdict { verdict, by, way: ApprovalWay::Cli, at };
        match self.gateway.answer_question(question.item.clone(), answer).await {
            Ok(AnswerReceipt::Accepted) => {}
            Ok(AnswerReceipt::AlreadyAnswered(earlier)) => {
                let text = answered(&earlier, Timestamp::now());
                say(&format!("onecall: the call was already {}", visible_line(&text)));
            }
            Ok(AnswerReceipt::Withdrawn | AnswerReceipt::Unknown | AnswerReceipt::DoesNotFit) => {
                say("onecall: the call needs no answer any more");
            }
            Ok(AnswerReceipt::WayNotAllowed) => {
                say("onecall: the gateway that asks does not accept answers on the command line");
            }
            Ok(AnswerReceipt::Expired) => say("onecall: the question has expired"),
            Err(error) => say(&format!("error: the answer could not be stored: {error}")),
        }
    }

    /// What is asked, in one line.
    fn described(&self, question: &ApprovalQuestion) -> String {
        let line = question.line.map_or(String::new(), |line| format!(" in line {line}"));
        let name = visible_line(question.name.as_str()).into_owned();
        match question.kind {
            QuestionKind::Approve => format!("'{name}'{line} waits for an approval"),
            QuestionKind::Unknown => {
                format!("'{name}'{line} was under way when onecall ended: did it happen?")
            }
        }
    }

    /// Everything about a call.
    fn details(&self, question: &ApprovalQuestion) -> String {
        let text = self.redactor.redact(question.arguments.clone());
        let arguments = match serde_json::from_str::<Value>(&text) {
            Ok(value) => visible_json(&format!("{value:#}")).into_owned(),
            Err(_) => visible_line(&text).into_owned(),
        };
        let (id, rule) = (question.item.as_str(), visible_line(&question.rule));
        format!(
            "  question  {id}\n  rule      {rule}\n  expires   {}\n{arguments}",
            question.expires
        )
    }

    /// Where a question can be answered if not here.
    fn how_to_answer(&self, question: &ApprovalQuestion) -> String {
        let (what, id) = (self.described(question), question.item.as_str());
        if self.settings.allows(ApprovalWay::Cli) {
            return format!("onecall: {what}; `onecall approvals show {id}` says how to answer");
        }
        let ways: Vec<_> = self.settings.ways.iter().map(|way| way.name()).collect();
        format!(
            "onecall: {what} ({id}); the configuration lets only these answer: {}",
            ways.join(", ")
        )
    }
}

/// What a person typed.
#[derive(Debug, PartialEq)]
enum Reply {
    Details,
    Verdict(Verdict),
}

impl Reply {
    /// Reads a line; `None` if it is not an answer to this kind of question.
    fn parse(kind: QuestionKind, line: &str) -> Option<Self> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let verdict = match (kind, word.to_ascii_lowercase().as_str()) {
            (_, "d" | "details") if rest.is_empty() => return Some(Self::Details),
            (QuestionKind::Approve, "y" | "yes") if rest.is_empty() => {
                Verdict::Approve { scope: ApprovalScope::Once, arguments: None }
            }
            (QuestionKind::Approve, "n" | "no") => {
                Verdict::Deny { reason: (!rest.is_empty()).then(|| rest.to_owned()) }
            }
            (QuestionKind::Unknown, "y" | "yes") => {
                Verdict::Happened { result: serde_json::from_str(rest).ok()? }
            }
            (QuestionKind::Unknown, "n" | "no") if rest.is_empty() => Verdict::NotHappened,
            (QuestionKind::Unknown, "g" | "give-up") if rest.is_empty() => Verdict::GiveUp,
            _ => return None,
        };
        Some(Self::Verdict(verdict))
    }
}

fn prompt(kind: QuestionKind) {
    let question = match kind {
        QuestionKind::Approve => "Approve? [y, n, n REASON, d for details] ",
        QuestionKind::Unknown => "Did it happen? [y RESULT, n, g to give up, d for details] ",
    };
    let mut stderr = io::stderr();
    // A terminal that is gone cannot answer either.
    _ = write!(stderr, "{question}").and_then(|()| stderr.flush());
}

fn how_to_reply(kind: QuestionKind) -> &'static str {
    match kind {
        QuestionKind::Approve => {
            "Type y to make the call, n to deny it, n and a reason to tell the program why, or d for \
             details"
        }
        QuestionKind::Unknown => {
            "Type y and the result as JSON if the call happened, n to make it now, g to give up the \
             run, or d for details"
        }
    }
}

/// The lines of stdin, read by a thread that ends with the process.
fn read_lines() -> UnboundedReceiver<String> {
    let (sender, receiver) = unbounded_channel();
    std::thread::spawn(move || {
        io::stdin().lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    receiver
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reply_is_never_guessed() {
        let approve = |line| Reply::parse(QuestionKind::Approve, line);
        let yes = Verdict::Approve { scope: ApprovalScope::Once, arguments: None };
        assert_eq!(approve(" Y \n"), Some(Reply::Verdict(yes)));
        let no = |reason: Option<&str>| Verdict::Deny { reason: reason.map(str::to_owned) };
        assert_eq!(approve("no"), Some(Reply::Verdict(no(None))));
        assert_eq!(approve("n  not today "), Some(Reply::Verdict(no(Some("not today")))));
        assert_eq!(approve("d"), Some(Reply::Details));
        for line in ["", "y es", "yess", "ja", "maybe", "g"] {
            assert_eq!(approve(line), None, "{line}");
        }
        let unknown = |line| Reply::parse(QuestionKind::Unknown, line);
        let happened = Verdict::Happened { result: json!({ "a": 1 }) };
        assert_eq!(unknown("y {\"a\": 1}"), Some(Reply::Verdict(happened)));
        assert_eq!(unknown("n"), Some(Reply::Verdict(Verdict::NotHappened)));
        assert_eq!(unknown("g"), Some(Reply::Verdict(Verdict::GiveUp)));
        for line in ["y", "y {", "n reason", ""] {
            assert_eq!(unknown(line), None, "{line}");
        }
    }
}
