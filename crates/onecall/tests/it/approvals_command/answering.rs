//! Listing, showing and answering questions.

use std::time::Duration;

use insta::assert_snapshot;
use onecall_core::storage::FinalAnswer;
use onecall_core::{CallableName, QuestionKind, RunId, Timestamp, UserName};
use serde_json::{Value, json};

use super::{Desk, SECRET, user};

/// The ids and the outcomes of answers.
fn outcomes(answers: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let answers = answers.as_array().unwrap().iter();
    answers.map(|answer| (text(&answer["id"]), text(&answer["outcome"]))).collect()
}

fn done(ids: &[&str]) -> Vec<(String, String)> {
    ids.iter().map(|id| ((*id).to_owned(), "accepted".to_owned())).collect()
}

#[test]
fn questions_are_listed_without_secrets_and_without_tricks() {
    let desk = Desk::new();
    let empty = desk.approvals(&["list"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    assert_eq!(empty.stderr, "No call waits for an approval\n");
    assert_eq!(desk.approvals(&["list", "--quiet"]).stderr, "");
    let hostile =
        json!({ "note": "\u{1b}[2K\r\u{202e}harmless\nonecall: approved", "key": SECRET });
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{\"id\":1}"), (2, &hostile.to_string())]);
    let run = RunId::from_existing("1m7g7r5ga39rv3");
    desk.ask(&run, 3, QuestionKind::Unknown, "{\"id\":3}");
    let listed = desk.approvals(&["list"]);
    assert_eq!((listed.code, listed.stderr.as_str()), (Some(0), ""));
    assert_snapshot!(listed.stdout, @r#"
    ID                  WHEN  LINE  TOOL                                      ARGUMENTS
    1m7g7r5ga39rv3.1  3m ago     3  mcp__shop__delete_order                   {"id":1}
    1m7g7r5ga39rv3.2  3m ago     3  mcp__shop__delete_order                   {"note":"\u001b[2K\r\u{20…
    1m7g7r5ga39rv3.3  3m ago     3  mcp__shop__delete_order (did it happen?)  {"id":3}
    "#);
    let (code, shown) = desk.json(&["list"]);
    assert_eq!(code, Some(0));
    let second = &shown[1];
    assert_eq!(second["arguments"], json!({ "note": hostile["note"], "key": "[redacted]" }));
    assert_eq!(
        [&second["id"], &second["tool"], &second["line"], &second["kind"], &shown[2]["kind"]],
        [
            &json!("1m7g7r5ga39rv3.2"),
            &json!("mcp__shop__delete_order"),
            &json!(3),
            &json!("approve"),
            &json!("unknown")
        ]
    );
    let raw = desk.approvals(&["list", "--json"]).stdout;
    assert!(!raw.contains(['\u{1b}', '\u{202e}']) && !raw.contains(SECRET), "{raw}");
}

#[test]
fn a_question_is_shown_with_everything_about_it() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7g7r5ga39rv3", &[(2, "{\"id\":1,\"why\":\"old\u{200b}\"}")]);
    desk.ask(&run, 5, QuestionKind::Unknown, "{}");
    let shown = desk.approvals(&["show", "1m7g"]);
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""));
    let is_volatile = |line: &&str| !line.contains("asked ") && !line.contains("expires ");
    let lines: Vec<_> = shown.stdout.lines().filter(is_volatile).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    Question 1m7g7r5ga39rv3.2
      asks      may this call be made?
      tool      mcp__shop__delete_order
      run       1m7g7r5ga39rv3, program of claude-code 2.0, started 5m ago
      line      3
      rule      approvals.ask: mcp__*__delete_*
      state     open

    Arguments
        {
          "id": 1,
          "why": "old\u200b"
        }

    Answer it:
      onecall approvals approve 1m7g7r5ga39rv3.2
      onecall approvals deny 1m7g7r5ga39rv3.2 --reason TEXT

    Question 1m7g7r5ga39rv3.5
      asks      did this call happen? The gateway ended while it was under way
      tool      mcp__shop__delete_order
      run       1m7g7r5ga39rv3, program of claude-code 2.0, started 5m ago
      line      3
      rule      approvals.ask: mcp__*__delete_*
      state     open

    Arguments
        {}

    Find out whether it happened, and answer:
      onecall approvals approve 1m7g7r5ga39rv3.5 --happened JSON
      onecall approvals approve 1m7g7r5ga39rv3.5 --not-happened
      onecall approvals deny 1m7g7r5ga39rv3.5 --give-up
    "#);
    let unknown = desk.approvals(&["show", "1m7g7r5ga39rv4.2"]);
    assert_eq!(unknown.code, Some(1));
    assert_eq!(
        unknown.stderr,
        "error: no question and no run with questions has the id '1m7g7r5ga39rv4.2'; did you mean \
         '1m7g7r5ga39rv3.2'?\n"
    );
}

#[test]
fn an_approval_says_who_gave_it_and_how() {
    let desk = Desk::new();
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{}"), (2, "{}")]);
    let approved = desk.approvals(&["approve", "1m7g.2"]);
    assert_eq!((approved.code, approved.stdout.as_str()), (Some(0), ""));
    assert_eq!(approved.stderr, "Approved 'mcp__shop__delete_order' (1m7g7r5ga39rv3.2)\n");
    let answer = json!({
        "verdict": "approve", "scope": { "for": "once" }, "by": user(), "way": "cli"
    });
    assert_eq!(desk.state("1m7g7r5ga39rv3.2"), answer);
    assert_eq!(desk.state("1m7g7r5ga39rv3.1"), json!("open"));
    let again = desk.approvals(&["deny", "1m7g.2", "--reason", "no"]);
    assert_eq!(again.code, Some(1));
    assert_eq!(
        again.stderr,
        format!(
            "error: 'mcp__shop__delete_order' (1m7g7r5ga39rv3.2) was already approved by {} on the \
             command line, now\n",
            user()
        )
    );
    assert_eq!(desk.state("1m7g7r5ga39rv3.2"), answer);
}

#[test]
fn a_run_means_its_open_questions_and_all_means_all() {
    let desk = Desk::new();
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{}"), (2, "{}")]);
    desk.add_waiting_run("1m7g8aaaaaaaaa", &[(1, "{}")]);
    desk.add_waiting_run("1m7h9bbbbbbbbb", &[(4, "{}")]);
    let (code, answers) = desk.json(&["deny", "1m7g7", "--reason", "keep them"]);
    assert_eq!(
        (code, outcomes(&answers)),
        (Some(0), done(&["1m7g7r5ga39rv3.1", "1m7g7r5ga39rv3.2"]))
    );
    assert_eq!(
        desk.state("1m7g7r5ga39rv3.1"),
        json!({ "verdict": "deny", "reason": "keep them", "by": user(), "way": "cli" })
    );
    let several = desk.approvals(&["approve", "1m7g", "1m7h"]);
    assert_eq!(several.code, Some(1));
    assert_eq!(
        several.stderr,
        "error: several runs begin with '1m7g': 1m7g7r5ga39rv3, 1m7g8aaaaaaaaa; write more of it\n\
         Approved 'mcp__shop__delete_order' (1m7h9bbbbbbbbb.4)\n"
    );
    let (code, answers) = desk.json(&["approve", "--all"]);
    assert_eq!((code, outcomes(&answers)), (Some(0), done(&["1m7g8aaaaaaaaa.1"])));
    let nothing = desk.approvals(&["approve", "--all"]);
    assert_eq!(
        (nothing.code, nothing.stderr.as_str()),
        (Some(0), "No call waits for an approval\n")
    );
    for wrong in [&["approve"][..], &["approve", "--all", "1m7g"]] {
        assert_eq!(desk.approvals(wrong).code, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_question_that_needs_no_answer_takes_none() {
    let desk = Desk::new();
    let withdrawn = desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{}")]);
    desk.store.withdraw_question(&onecall_core::ItemId::of(&withdrawn, 1)).unwrap();
    let ended = desk.add_waiting_run("1m7h9bbbbbbbbb", &[(1, "{}")]);
    let answer = FinalAnswer { result: "{}".to_owned(), at: Timestamp::now() };
    assert!(desk.store.end_durable_run(&ended, 1, &answer).unwrap());
    for id in ["1m7g7r5ga39rv3.1", "1m7h9bbbbbbbbb.1"] {
        let refused = desk.approvals(&["approve", id]);
        let message = format!(
            "error: 'mcp__shop__delete_order' ({id}) needs no answer any more: the program \
             cancelled the call, or its run has ended\n"
        );
        assert_eq!((refused.code, refused.stderr), (Some(1), message));
        assert_eq!(desk.state(id), json!("withdrawn"));
    }
}

#[test]
fn the_command_line_answers_only_where_the_configuration_lets_it() {
    let approvals = json!({ "ask": ["mcp__*__delete_*"], "ways": ["client", "page"] });
    let desk = Desk::with_approvals(&approvals);
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{}")]);
    for command in ["approve", "deny"] {
        let refused = desk.approvals(&[command, "--all"]);
        assert_eq!(refused.code, Some(2));
        assert_eq!(
            refused.stderr,
            "error: questions may not be answered on the command line: 'ways' in approvals has only \
             client, page\n"
        );
    }
    assert_eq!(desk.state("1m7g"), json!("open"));
}

#[test]
fn an_approval_can_cover_later_calls() {
    let desk = Desk::new();
    let arguments = r#"{"folder":"drafts","count":3}"#;
    let run =
        desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, arguments), (2, arguments), (3, arguments)]);
    let name = CallableName::new("mcp__shop__delete_order");
    let grants = || desk.store.grants(&name, &run, &UserName::local(), Timestamp::now()).unwrap();
    let refused = [
        (vec!["--until", "7d", "--where", "folder=sent"], 1),
        (vec!["--until", "7d", "--where", "owner=ada"], 1),
        (vec!["--where", "folder=drafts"], 2),
        (vec!["--until", "2020-01-01"], 2),
        (vec!["--until", "later"], 2),
        (vec!["--until", "7d", "--for-run"], 2),
    ];
    for (options, code) in refused {
        let ended = desk.approvals(&[&["approve", "1m7g.1"], options.as_slice()].concat());
        assert_eq!(ended.code, Some(code), "{options:?}: {}", ended.stderr);
    }
    assert_eq!(grants(), []);
    let until =
        ["approve", "1m7g.1", "--until", "7d", "--where", "folder=drafts", "--where", "count"];
    assert_eq!(desk.approvals(&until).code, Some(0));
    let [grant] = grants().try_into().unwrap();
    assert_eq!(Value::Object(grant.constraints), json!({ "folder": "drafts", "count": 3 }));
    let left = grant.until.unwrap().since(Timestamp::now());
    assert!(left > Duration::from_secs(7 * 86_400 - 600), "{left:?}");
    assert_eq!((grant.run, grant.by), (None, user()));
    assert_eq!(desk.approvals(&["approve", "1m7g.2", "--for-run"]).code, Some(0));
    assert_eq!(grants().iter().filter(|grant| grant.run.as_ref() == Some(&run)).count(), 1);
}

#[test]
fn later_calls_are_like_the_call_that_was_approved() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, r#"{"path":"/etc"}"#)]);
    let approve = ["approve", "1m7g.1", "--until", "7d", "--arguments", r#"{"path":"/tmp/x"}"#];
    let refused = desk.approvals(&[&approve[..], &["--where", "path=/etc"]].concat());
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    let reason = "the call itself has \"/tmp/x\" as 'path', not \"/etc\"";
    assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    let approved = desk.approvals(&[&approve[..], &["--where", "path"]].concat());
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let name = CallableName::new("mcp__shop__delete_order");
    let grants = desk.store.grants(&name, &run, &UserName::local(), Timestamp::now()).unwrap();
    let constraints: Vec<Value> =
        grants.into_iter().map(|grant| Value::Object(grant.constraints)).collect();
    assert_eq!(constraints, [json!({ "path": "/tmp/x" })]);
}

#[test]
fn arguments_are_changed_for_one_call_only() {
    let desk = Desk::new();
    desk.add_waiting_run("1m7g7r5ga39rv3", &[(1, "{\"id\":1}"), (2, "{\"id\":2}")]);
    let both = desk.approvals(&["approve", "1m7g", "--arguments", "{\"id\":3}"]);
    assert_eq!(
        (both.code, both.stderr.as_str()),
        (Some(2), "error: this answer is for one question, and 2 are meant; write the id of one\n")
    );
    for wrong in ["{", "[1]"] {
        assert_eq!(desk.approvals(&["approve", "1m7g.1", "--arguments", wrong]).code, Some(2));
    }
    assert_eq!(desk.state("1m7g.1"), json!("open"));
    assert_eq!(desk.approvals(&["approve", "1m7g.1", "--arguments", "{\"id\":3}"]).code, Some(0));
    assert_eq!(desk.state("1m7g.1")["arguments"], json!({ "id": 3 }));
}

#[test]
fn a_call_that_may_have_happened_is_answered_in_its_own_words() {
    let desk = Desk::new();
    let run = desk.add_waiting_run("1m7g7r5ga39rv3", &[(9, "{}")]);
    for call in 1..=3 {
        desk.ask(&run, call, QuestionKind::Unknown, "{}");
    }
    for wrong in
        [&["approve", "1m7g.1"][..], &["approve", "1m7g.1", "--for-run"], &["deny", "1m7g.1"]]
    {
        let refused = desk.approvals(wrong);
        assert_eq!(refused.code, Some(1), "{wrong:?}");
        assert_eq!(
            refused.stderr,
            "error: 'mcp__shop__delete_order' (1m7g7r5ga39rv3.1) is not answered: the gateway ended \
             while the call was under way; answer with --happened JSON or --not-happened, or end the \
             run with `onecall approvals deny --give-up`\n"
        );
    }
    for wrong in [&["approve", "1m7g.9", "--not-happened"][..], &["deny", "1m7g.9", "--give-up"]] {
        let refused = desk.approvals(wrong);
        assert_eq!(refused.code, Some(1), "{wrong:?}");
        let message = "is not answered: the call has not been sent yet; approve or deny it\n";
        assert!(refused.stderr.ends_with(message), "{}", refused.stderr);
    }
    let happened = ["approve", "1m7g.1", "--happened", "{\"deleted\":true}"];
    assert_eq!(desk.approvals(&happened).code, Some(0));
    assert_eq!(desk.approvals(&["approve", "1m7g.2", "--not-happened"]).code, Some(0));
    assert_eq!(desk.approvals(&["deny", "1m7g.3", "--give-up"]).code, Some(0));
    let verdicts = ["1m7g.1", "1m7g.2", "1m7g.3"].map(|id| desk.state(id)["verdict"].clone());
    assert_eq!(verdicts, [json!("happened"), json!("not_happened"), json!("give_up")]);
    assert_eq!(desk.state("1m7g.1")["result"], json!({ "deleted": true }));
}
