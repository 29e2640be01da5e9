//! Questions, their one answer, and what an answer covers.

use std::collections::BTreeSet;
use std::thread;

use onecall_core::storage::*;
use onecall_core::{
    AnsweredVerdict, ApprovalQuestion, ApprovalScope, ApprovalWay, ItemId, QuestionKind, Timestamp,
    UserName, Verdict,
};
use serde_json::json;

use super::{answer, durable_run, id, question, tool};
use crate::place::{Place, on_every_store, soon};

on_every_store!(
    a_run_waits_from_its_first_question_on,
    the_first_answer_counts,
    one_of_many_answers_counts,
    a_question_of_an_ended_run_is_withdrawn,
    a_verdict_has_to_fit_its_question,
    an_approval_covers_what_it_says,
    an_approval_of_later_calls_is_taken_back_once,
    a_question_is_answered_only_in_its_ways,
    an_answer_after_the_expiry_does_not_count,
    questions_are_chosen_by_run_and_state,
    recent_answers_are_chosen_by_time_and_user,
    a_question_is_announced_by_one_process_at_a_time,
    every_write_changes_the_number,
    all_share_one_sealing_key,
);

pub(super) fn given(verdict: Verdict, by: &str) -> AnsweredVerdict {
    AnsweredVerdict { verdict, by: by.to_owned(), way: ApprovalWay::Cli, at: Timestamp(300) }
}

fn approve(scope: ApprovalScope) -> Verdict {
    Verdict::Approve { scope, arguments: None }
}

fn deny() -> Verdict {
    Verdict::Deny { reason: Some("no".to_owned()) }
}

/// A gateway may be killed at any moment, so a question without a waiting run must never be stored.
fn a_run_waits_from_its_first_question_on(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let state = || store.durable_run(&id("a")).unwrap().map(|run| run.state);
    assert_eq!(state(), Some(DurableState::Running));
    let asked = question("a", 1);
    store.add_question(&asked, None).unwrap();
    assert_eq!(state(), Some(DurableState::Waiting));
    store.answer_question(&asked.item, &given(deny(), "ann")).unwrap();
    store.set_waiting(&id("a"), 1, false).unwrap();
    // A continued run asks again, and gets the answer that is there.
    store.add_question(&asked, None).unwrap();
    assert_eq!(state(), Some(DurableState::Running));
}

fn the_first_answer_counts(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let asked = question("a", 1);
    let (state, announce) = (QuestionState::Open, Some(Timestamp(230)));
    let open = StoredQuestion { question: asked.clone(), state, announce };
    assert_eq!(store.add_question(&asked, announce).unwrap(), open);
    // The same question, asked again by a run that was continued.
    let again = ApprovalQuestion { asked: Timestamp(800), ..asked.clone() };
    assert_eq!(place.open().add_question(&again, Some(Timestamp(830))).unwrap(), open);
    let first = given(deny(), "ann");
    assert_eq!(store.answer_question(&asked.item, &first).unwrap(), AnswerReceipt::Accepted);
    let second = given(approve(ApprovalScope::Run), "bob");
    let receipt = place.open().answer_question(&asked.item, &second).unwrap();
    assert_eq!(receipt, AnswerReceipt::AlreadyAnswered(first.clone()));
    let answered =
        StoredQuestion { question: asked.clone(), state: QuestionState::Answered(first), announce };
    assert_eq!(store.add_question(&again, None).unwrap(), answered);
    assert_eq!(
        store.grants(&asked.name, &id("a"), &UserName::local(), Timestamp(300)).unwrap(),
        []
    );
    // An answer is not withdrawn.
    store.withdraw_question(&asked.item).unwrap();
    assert_eq!(store.question(&asked.item).unwrap(), Some(answered));
    let unknown = store.answer_question(&ItemId::known("a.9"), &second).unwrap();
    assert_eq!(unknown, AnswerReceipt::Unknown);
}

fn one_of_many_answers_counts(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    for call in 0..10 {
        let item = store.add_question(&question("a", call), None).unwrap().question.item;
        let receipts: Vec<(String, AnswerReceipt)> = thread::scope(|scope| {
            let people: Vec<_> = (0..8)
                .map(|person: u8| {
                    let item = &item;
                    scope.spawn(move || {
                        let by = person.to_string();
                        let verdict = given(approve(ApprovalScope::Run), &by);
                        let receipt = place.open().answer_question(item, &verdict).unwrap();
                        (by, receipt)
                    })
                })
                .collect();
            people.into_iter().map(|person| person.join().unwrap()).collect()
        });
        let accepted =
            |(_, receipt): &&(String, AnswerReceipt)| *receipt == AnswerReceipt::Accepted;
        let [(winner, _)] = receipts.iter().filter(accepted).collect::<Vec<_>>()[..] else {
            panic!("{receipts:?}")
        };
        let first = AnswerReceipt::AlreadyAnswered(given(approve(ApprovalScope::Run), winner));
        assert_eq!(receipts.iter().filter(|(_, receipt)| *receipt == first).count(), 7);
    }
}

fn a_question_of_an_ended_run_is_withdrawn(place: &Place) {
    let store = place.open();
    for name in ["ended", "cancelled"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
        store.add_question(&question(name, 1), None).unwrap();
    }
    store.end_durable_run(&id("ended"), 1, &answer(500)).unwrap();
    store.cancel_durable_run(&id("cancelled"), &answer(500)).unwrap();
    for name in ["ended", "cancelled"] {
        let receipt = store.answer_question(&question(name, 1).item, &given(deny(), "ann"));
        assert_eq!(receipt.unwrap(), AnswerReceipt::Withdrawn, "{name}");
        // A late question is not stored at all.
        let late = store.add_question(&question(name, 2), None).unwrap();
        assert_eq!(late.state, QuestionState::Withdrawn, "{name}");
        assert_eq!(store.question(&question(name, 2).item).unwrap(), None, "{name}");
    }
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    store.add_question(&question("a", 1), None).unwrap();
    store.withdraw_question(&question("a", 1).item).unwrap();
    let receipt = store.answer_question(&question("a", 1).item, &given(deny(), "ann")).unwrap();
    assert_eq!(receipt, AnswerReceipt::Withdrawn);
    // The process ended before its journal said that the call was cancelled: the call is made again.
    let again = ApprovalQuestion { asked: Timestamp(800), ..question("a", 1) };
    let (state, announce) = (QuestionState::Open, Some(Timestamp(830)));
    let reopened = StoredQuestion { question: again.clone(), state, announce };
    assert_eq!(store.add_question(&again, announce).unwrap(), reopened);
    let receipt = store.answer_question(&again.item, &given(deny(), "ann")).unwrap();
    assert_eq!(receipt, AnswerReceipt::Accepted);
}

fn a_verdict_has_to_fit_its_question(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let edited =
        |arguments| Verdict::Approve { scope: ApprovalScope::Once, arguments: Some(arguments) };
    let approvals = [approve(ApprovalScope::Once), edited(json!({ "path": "/tmp" })), deny()];
    let outcomes =
        [Verdict::Happened { result: json!([1]) }, Verdict::NotHappened, Verdict::GiveUp];
    let mut call = 0;
    for kind in [QuestionKind::Approve, QuestionKind::Unknown] {
        let (fitting, others) = match kind {
            QuestionKind::Approve => (&approvals, &outcomes),
            QuestionKind::Unknown => (&outcomes, &approvals),
        };
        for verdict in fitting {
            call += 1;
            let item = ItemId::of(&id("a"), call);
            store.add_question(&ApprovalQuestion { kind, ..question("a", call) }, None).unwrap();
            let answered = |verdict: &Verdict| {
                store.answer_question(&item, &given(verdict.clone(), "ann")).unwrap()
            };
            for other in others.iter().chain([&edited(json!([1]))]) {
                assert_eq!(answered(other), AnswerReceipt::DoesNotFit, "{kind:?} {other:?}");
            }
            assert_eq!(answered(verdict), AnswerReceipt::Accepted, "{kind:?} {verdict:?}");
            let stored = place.open().question(&item).unwrap().unwrap().state;
            assert_eq!(stored, QuestionState::Answered(given(verdict.clone(), "ann")));
        }
    }
    // Whether a call happened is another question than whether it may be made.
    let unknown = ApprovalQuestion { kind: QuestionKind::Unknown, ..question("a", 1) };
    assert_eq!(store.add_question(&unknown, None).unwrap().state, QuestionState::Open);
}

fn an_approval_covers_what_it_says(place: &Place) {
    let store = place.open();
    for name in ["a", "b"] {
        store.add_durable_runs(&[&durable_run(name)]).unwrap();
    }
    let constraints = serde_json::Map::from_iter([("path".to_owned(), json!("/tmp"))]);
    let scopes = [
        ApprovalScope::Once,
        ApprovalScope::Run,
        ApprovalScope::Tool { constraints: constraints.clone(), until: 700 },
    ];
    for (call, scope) in (0..).zip(scopes) {
        let item = store.add_question(&question("a", call), None).unwrap().question.item;
        store.answer_question(&item, &given(approve(scope), "ann")).unwrap();
    }
    let grant = |call, run: Option<&str>, constraints, until: Option<i64>| Grant {
        item: ItemId::of(&id("a"), call),
        name: question("a", call).name,
        user: UserName::local(),
        run: run.map(id),
        constraints,
        until: until.map(Timestamp),
        by: "ann".to_owned(),
    };
    let of_run = grant(1, Some("a"), serde_json::Map::new(), None);
    let of_tool = grant(2, None, constraints, Some(700));
    let delete = question("a", 1).name;
    let other = place.open();
    let covers = |run: &str, now| {
        other.grants(&delete, &id(run), &UserName::local(), Timestamp(now)).unwrap()
    };
    assert_eq!(covers("a", 699), [of_run.clone(), of_tool.clone()]);
    assert_eq!(covers("a", 700), std::slice::from_ref(&of_run));
    assert_eq!(covers("b", 699), std::slice::from_ref(&of_tool));
    assert_eq!(
        other
            .grants(&tool("mcp__files__other"), &id("a"), &UserName::local(), Timestamp(1))
            .unwrap(),
        []
    );
    let all = |now| other.all_grants(Timestamp(now)).unwrap();
    assert_eq!(all(699), [of_run.clone(), of_tool.clone()]);
    assert_eq!(all(700), [of_run]);
    // One ends with its run, the other with its date.
    store.end_durable_run(&id("a"), 1, &answer(500)).unwrap();
    assert_eq!(covers("a", 699), std::slice::from_ref(&of_tool));
    store.prune_durable_runs(Timestamp(600)).unwrap();
    assert_eq!(covers("b", 699), [of_tool]);
    store.prune_durable_runs(Timestamp(701)).unwrap();
    assert_eq!(covers("b", 0), []);
}

fn an_approval_of_later_calls_is_taken_back_once(place: &Place) {
    let (store, other) = (place.open(), place.open());
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let item = store.add_question(&question("a", 1), None).unwrap().question.item;
    store.answer_question(&item, &given(approve(ApprovalScope::Run), "ann")).unwrap();
    assert!(!other.revoke_grant(&ItemId::known("a.2")).unwrap());
    assert!(other.revoke_grant(&item).unwrap());
    assert_eq!(
        store.grants(&question("a", 1).name, &id("a"), &UserName::local(), Timestamp(1)).unwrap(),
        []
    );
    assert!(!store.revoke_grant(&item).unwrap());
    // The call itself stays approved.
    let state = store.question(&item).unwrap().unwrap().state;
    assert_eq!(state, QuestionState::Answered(given(approve(ApprovalScope::Run), "ann")));
}

fn a_question_is_answered_only_in_its_ways(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let asked = ApprovalQuestion { ways: vec![ApprovalWay::Client], ..question("a", 1) };
    let open = store.add_question(&asked, None).unwrap();
    let by_cli = given(approve(ApprovalScope::Run), "eve");
    let receipt = place.open().answer_question(&asked.item, &by_cli).unwrap();
    assert_eq!(receipt, AnswerReceipt::WayNotAllowed);
    assert_eq!(store.question(&asked.item).unwrap(), Some(open));
    assert_eq!(
        store.grants(&asked.name, &id("a"), &UserName::local(), Timestamp(300)).unwrap(),
        []
    );
    // The gateway that asks again has another configuration.
    store.add_question(&question("a", 1), None).unwrap();
    assert_eq!(store.answer_question(&asked.item, &by_cli).unwrap(), AnswerReceipt::Accepted);
    // A question that nobody may answer can still expire.
    let for_nobody = ApprovalQuestion { ways: Vec::new(), ..question("a", 2) };
    store.add_question(&for_nobody, None).unwrap();
    let expired = AnsweredVerdict { way: ApprovalWay::Rule, ..given(deny(), "onecall") };
    let receipt = store.answer_question(&for_nobody.item, &expired).unwrap();
    assert_eq!(receipt, AnswerReceipt::Accepted);
}

/// No gateway runs that could have closed the question.
fn an_answer_after_the_expiry_does_not_count(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let asked = question("a", 1);
    let open = store.add_question(&asked, None).unwrap();
    for at in [asked.expires, Timestamp(asked.expires.0 + 1)] {
        let late = AnsweredVerdict { at, ..given(approve(ApprovalScope::Run), "ann") };
        assert_eq!(store.answer_question(&asked.item, &late).unwrap(), AnswerReceipt::Expired);
    }
    assert_eq!(store.question(&asked.item).unwrap(), Some(open));
    let grants = store.grants(&asked.name, &id("a"), &UserName::local(), Timestamp(300));
    assert_eq!(grants.unwrap(), []);
    // A gateway closes it when it looks next.
    let (way, at) = (ApprovalWay::Rule, Timestamp(5_000));
    let closed = AnsweredVerdict { way, at, ..given(deny(), "onecall") };
    assert_eq!(store.answer_question(&asked.item, &closed).unwrap(), AnswerReceipt::Accepted);
}

fn questions_are_chosen_by_run_and_state(place: &Place) {
    let store = place.open();
    for (name, call, asked) in [("a", 1, 30), ("b", 1, 10), ("a", 2, 20)] {
        let asked = Timestamp(asked);
        store.add_question(&ApprovalQuestion { asked, ..question(name, call) }, None).unwrap();
    }
    store.answer_question(&ItemId::known("a.2"), &given(deny(), "ann")).unwrap();
    let chosen = |run: Option<&str>, open| {
        let filter = QuestionFilter { run: run.map(id), open, ..QuestionFilter::default() };
        let found = store.questions(&filter).unwrap().into_iter();
        found.map(|it| it.question.item.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(chosen(None, false), ["b.1", "a.2", "a.1"]);
    assert_eq!(chosen(None, true), ["b.1", "a.1"]);
    assert_eq!(chosen(Some("a"), false), ["a.2", "a.1"]);
    assert_eq!(chosen(Some("a"), true), ["a.1"]);
    assert_eq!(chosen(Some("c"), false), [""; 0]);
    // These belong to no stored run, so that only their age decides.
    store.prune_durable_runs(Timestamp(25)).unwrap();
    assert_eq!(chosen(None, false), ["b.1", "a.1"]);
    store.prune_durable_runs(Timestamp(901)).unwrap();
    assert_eq!(chosen(None, false), [""; 0]);
}

fn recent_answers_are_chosen_by_time_and_user(place: &Place) {
    let store = place.open();
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    for (run, call, at) in [("a", 1, 300), ("a", 2, 310), ("b", 1, 320)] {
        let asked = store.add_question(&question(run, call), None).unwrap().question;
        let answer = AnsweredVerdict { at: Timestamp(at), ..given(deny(), "ann") };
        store.answer_question(&asked.item, &answer).unwrap();
    }
    store.add_question(&question("a", 3), None).unwrap();
    let chosen = |since, limit, user: Option<&str>| {
        let user = user.map(UserName::from_existing);
        let answered_since = Some(Timestamp(since));
        let filter = QuestionFilter { answered_since, limit, user, ..QuestionFilter::default() };
        let found = store.questions(&filter).unwrap().into_iter();
        found.map(|it| it.question.item.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(chosen(300, None, None), ["b.1", "a.2", "a.1"]);
    assert_eq!(chosen(310, None, None), ["b.1", "a.2"]);
    assert_eq!(chosen(300, Some(1), None), ["b.1"]);
    // A run that is not stored has no user.
    assert_eq!(chosen(300, Some(1), Some("local")), ["a.2"]);
    assert_eq!(chosen(300, None, Some("anna")), [""; 0]);
    let user = Some(UserName::local());
    let open = QuestionFilter { open: true, user, ..QuestionFilter::default() };
    assert_eq!(store.questions(&open).unwrap().len(), 1);
}

fn a_question_is_announced_by_one_process_at_a_time(place: &Place) {
    let (store, run) = (place.open(), id("a"));
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let (first, later, last) = (Timestamp(230), Timestamp(260), Timestamp(290));
    let add =
        |call, announce| store.add_question(&question("a", call), announce).unwrap().question.item;
    let [open, other, denied, without] =
        [add(1, Some(first)), add(2, Some(first)), add(3, Some(first)), add(4, None)];
    store.answer_question(&denied, &given(deny(), "ann")).unwrap();
    let all = [&open, &other, &denied, &without].map(|item| (item.clone(), first));
    let claimed: Vec<Vec<ItemId>> = thread::scope(|scope| {
        let claim = || place.open().claim_announcement(&run, &all, later).unwrap();
        let claims: Vec<_> = (0..4).map(|_| scope.spawn(claim)).collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect()
    });
    let mut claimed = claimed.concat();
    claimed.sort_by_key(|item| item.as_str().to_owned());
    assert_eq!(claimed, [open.clone(), other.clone()]);
    // The process that has taken it over may have ended: another one does it later.
    let again = [(open.clone(), later), (other.clone(), first)];
    assert_eq!(store.claim_announcement(&run, &again, last).unwrap(), std::slice::from_ref(&open));
    let announce = |item: &ItemId| store.question(item).unwrap().unwrap().announce;
    assert_eq!([announce(&open), announce(&other)], [Some(last), Some(later)]);
    store.end_announcement(&run, &[open.clone(), other.clone()]).unwrap();
    assert_eq!([announce(&open), announce(&other), announce(&without)], [None; 3]);
    assert_eq!(store.claim_announcement(&run, &[(open, last)], later).unwrap(), []);
}

fn every_write_changes_the_number(place: &Place) {
    let (store, other) = (place.open(), place.open());
    store.add_durable_runs(&[&durable_run("a")]).unwrap();
    let mut seen = BTreeSet::from([store.change_number().unwrap()]);
    let mut changed = || seen.insert(store.change_number().unwrap());
    assert!(!changed());
    store.add_question(&question("a", 1), None).unwrap();
    assert!(changed());
    other.answer_question(&question("a", 1).item, &given(deny(), "ann")).unwrap();
    assert!(soon(&mut changed));
    store.questions(&QuestionFilter::default()).unwrap();
    assert!(!changed());
}

fn all_share_one_sealing_key(place: &Place) {
    let keys: BTreeSet<[u8; 32]> = thread::scope(|scope| {
        let makers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| place.open().sealing_key().unwrap())).collect();
        makers.into_iter().map(|maker| maker.join().unwrap()).collect()
    });
    assert_eq!(keys.len(), 1);
    let other = place.another().open().sealing_key().unwrap();
    assert!(!keys.contains(&other) && other != [0; 32]);
}
