//! The audit trail on the page: long ones are searched in parts, and changed ones are found out.

use onecall_core::Timestamp;
use onecall_core::storage::{
    AuditDecision, AuditEntry, AuditEvent, AuditTrail as _, AuditedArguments, AuditedCall,
};
use serde_json::json;

use super::stores::STORE;
use super::{PageProcess, recorded_home, run};

/// A decision about a call of a tool.
fn decided(tool: &str, decision: AuditDecision) -> AuditEntry {
    let (run, kind) = ("1m0000000".to_owned(), "program".to_owned());
    let arguments = AuditedArguments { sha256: String::new(), bytes: 2, text: None };
    AuditEntry {
        at: Timestamp::now(),
        user: "local".to_owned(),
        groups: Vec::new(),
        client: String::new(),
        call: Some(AuditedCall { run, kind, program: None, tool: tool.to_owned(), id: 1 }),
        event: AuditEvent::Decided { decision, rule: None, arguments },
    }
}

#[test]
fn a_long_trail_is_searched_in_parts() {
    let home = recorded_home(&json!({ "audit": "hash" }));
    let store = onecall_store::open_durable(home.path(STORE), 256);
    let mut rows = vec![decided("mcp__a__needle", AuditDecision::Deny)];
    rows.resize_with(15_000, || decided("mcp__a__other", AuditDecision::Allow));
    store.append_audit(&rows).expect("audit rows");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for query in ["tool=needle", "denied=1"] {
        let seen = browser.get(&format!("/page/audit?{query}"));
        assert!(!seen.text.contains("mcp__a__needle"), "{query}: {}", seen.text);
        let (before, _) = seen.text.split_once("\">Search older rows</a>").expect("a link");
        let (_, link) = before.rsplit_once("href=\"").expect("its address");
        let seen = browser.get(&format!("/page/audit{}", link.replace("&amp;", "&")));
        assert!(seen.text.contains("mcp__a__needle"), "{query}: {}", seen.text);
        assert!(!seen.text.contains("Search older rows"), "{query}: {}", seen.text);
    }
    // What a page finds at once needs no further search.
    let seen = browser.get("/page/audit?tool=other");
    assert!(seen.text.contains(">Older rows</a>") && !seen.text.contains("Search older rows"));
    let seen = browser.get("/page/audit?run=1m0000000&tool=needle");
    assert!(seen.text.contains("mcp__a__needle"), "{}", seen.text);
}

#[test]
fn a_trail_that_was_changed_is_not_intact() {
    let home = recorded_home(&json!({ "audit": "full" }));
    run(&home, "print(await mcp__files__read(path='a'))");
    let connection = rusqlite::Connection::open(home.path(STORE)).expect("the store");
    let change = "UPDATE audit SET content = replace(content, 'read', '<b>') WHERE number = 2";
    assert_eq!(connection.execute(change, []).expect("a change"), 1);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check = browser.check();
    let seen = browser.post("/page/audit/verify", &format!("check={check}"));
    assert_eq!(seen.status, 200, "{}", seen.text);
    assert!(seen.text.contains("The trail is not intact"), "{}", seen.text);
    assert!(seen.text.contains("row 2 was changed") && !seen.text.contains("<b>"), "{}", seen.text);
}
