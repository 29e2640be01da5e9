//! Everything that a server, a program or a model wrote is text on every page, never markup.

use std::time::Duration;

use onecall_core::storage::{
    Approvals as _, AuditDecision, AuditEntry, AuditEvent, AuditTrail as _, AuditedArguments,
    AuditedCall, DurableRun, DurableState, Journals as _, Lease, ReplayData, RunDetail, RunRecord,
    RunStore as _, RunSummary, StoredCall,
};
use onecall_core::{
    ApprovalQuestion, ApprovalWay, CallableName, ItemId, Principal, QuestionKind, RunId, Timestamp,
    UserName,
};
use onecall_store::SqliteStore;
use serde_json::json;
use testkit::bins;

use super::{PageBrowser, PageProcess, Seen};
use crate::support::Home;
use crate::support::http_gateway::HttpGateway;
use crate::users::personal_token;

/// Texts that would be markup, a script or an attribute if they were not escaped.
pub const CORPUS: [&str; 12] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\" autofocus onfocus=\"alert(1)",
    "</textarea><script>alert(2)</script>",
    "</title></style><svg onload=alert(3)>",
    "</pre><iframe src=javascript:alert(4)>",
    "--><!--<b>",
    "javascript:alert(5)",
    "<a href=\"javascript:alert(6)\">x</a>",
    "\u{202e}txet\u{2066}\u{200b}\u{1b}[2J",
    "<base href=//evil.example><meta http-equiv=refresh content=0>",
];

/// Beginnings of markup that only the corpus has.
const MARKUP: [&str; 9] = [
    "<script>alert",
    "<img src=x",
    "<svg onload",
    "<iframe",
    "<b>",
    "<a href=\"javascript",
    "<base",
    "<meta http-equiv=refresh",
    "onfocus=\"",
];

/// Characters of the corpus that hide something.
pub const HIDDEN: [char; 4] = ['\u{202e}', '\u{2066}', '\u{200b}', '\u{1b}'];

/// A record whose every text is hostile.
pub fn hostile_record(id: &str, text: &str) -> RunRecord {
    let owned = || text.to_owned();
    let call = StoredCall {
        name: owned(),
        server: owned(),
        arguments_hash: owned(),
        arguments_bytes: 5,
        result_bytes: 7,
        started: Duration::from_millis(1),
        duration: Some(Duration::from_millis(2)),
        error: Some(owned()),
        denied_by: Some(owned()),
        cached: false,
        arguments: Some(json!({ text: text }).to_string()),
        result: Some((
            "json".to_owned(),
            json!([{ "type": "image", "data": text }, text]).to_string(),
        )),
        counted_tokens: None,
    };
    RunRecord {
        run: RunSummary {
            id: RunId::from_existing(id),
            started: Timestamp::now(),
            user: UserName::from_existing(text),
            client: owned(),
            kind: owned(),
            language: owned(),
            engine: format!("{text} engine"),
            session: Some(owned()),
            program_hash: owned(),
            outcome: owned(),
            error: Some((owned(), owned())),
            duration: Duration::from_millis(9),
            output_bytes: 9,
            output_truncated: true,
            call_count: 2,
            failed_calls: 1,
            cached_calls: 0,
            sizes: None,
            counted_tokens: None,
            detail: RunDetail::Full,
        },
        program: format!("{text}\nawait {text}"),
        argv: vec![owned()],
        error_line: Some(1),
        tools: Some(owned()),
        output: Some(owned()),
        pictures: vec![None],
        calls: vec![call],
        replay: ReplayData::None,
    }
}

/// A run that waits, with hostile texts.
pub fn hostile_question(store: &SqliteStore, id: &str, text: &str) {
    let run = RunId::from_existing(id);
    let now = Timestamp::now();
    let durable = DurableRun {
        id: run.clone(),
        kind: text.to_owned(),
        principal: Principal::local(),
        client: text.to_owned(),
        started: now,
        request:
            json!({ "kind": "program", "code": format!("{text}\n{text}"), "language": "python" })
                .to_string(),
        configuration: String::new(),
        seed: [0; 32],
        state: DurableState::Running,
        in_place: None,
        lease: Some(Lease {
            owner: "x".to_owned(),
            fence: 1,
            until: now.after(Duration::from_secs(60)),
        }),
        resumed: 0,
        interruptions: 0,
    };
    store.add_durable_runs(&[&durable]).expect("a run");
    let question = ApprovalQuestion {
        item: ItemId::of(&run, 1),
        run,
        call: 1,
        kind: QuestionKind::Approve,
        name: CallableName::new(text),
        line: Some(2),
        arguments: json!({ text: text }).to_string(),
        rule: text.to_owned(),
        asked: now,
        expires: now.after(Duration::from_secs(3_600)),
        ways: ApprovalWay::CONFIGURABLE.to_vec(),
    };
    store.add_question(&question, None).expect("a question");
}

/// Rows of the audit trail whose every text is hostile.
fn hostile_rows(text: &str) -> Vec<AuditEntry> {
    let owned = || text.to_owned();
    let call =
        AuditedCall { run: owned(), kind: owned(), program: Some(owned()), tool: owned(), id: 1 };
    let arguments = AuditedArguments { sha256: owned(), bytes: 1, text: Some(owned()) };
    let events = [
        AuditEvent::Decided { decision: AuditDecision::Deny, rule: Some(owned()), arguments },
        AuditEvent::Answered {
            question: QuestionKind::Approve,
            verdict: owned(),
            by: owned(),
            way: ApprovalWay::Page,
            arguments: None,
        },
        AuditEvent::Started { version: owned(), process: 1 },
        AuditEvent::Changed { change: owned() },
    ];
    let entry = |event| AuditEntry {
        at: Timestamp::now(),
        user: owned(),
        groups: vec![owned()],
        client: owned(),
        call: Some(call.clone()),
        event,
    };
    events.into_iter().map(entry).collect()
}

/// Policies whose reasons are hostile. Each forbids the calls of one client.
fn hostile_policies() -> String {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let forbid = |text: &&str| {
        let text = quoted(text);
        format!(
            "@reason(\"{text}\")\nforbid (principal, action, resource)\n\
             when {{ context.client == \"{text}\" }};\n"
        )
    };
    let forbidding: String = CORPUS.iter().map(forbid).collect();
    format!("permit (principal, action, resource);\n{forbidding}")
}

/// A home whose store and server are full of hostile texts, and the addresses that show them.
pub fn hostile_home() -> (Home, Vec<String>) {
    let home = Home::new();
    let tools: Vec<_> = CORPUS
        .iter()
        .enumerate()
        .map(|(index, text)| json!({
            "name": format!("tool{index}"), "description": text,
            "inputSchema": { "type": "object", "properties": { *text: { "type": "string", "description": text, "enum": [text] } } },
        }))
        .collect();
    let script = json!({ "tools": tools, "on": {} });
    let server = json!({ "name": "hostile", "command": bins::fixture_server(), "args": ["--script", &script.to_string()] });
    let config = json!({ "servers": [server], "approvals": { "ask": ["*"] }, "audit": "full", "policy": "policy.cedar" });
    home.write("config.json", config.to_string());
    home.write("policy.cedar", hostile_policies());
    let store = onecall_store::open_durable(home.path("home/state/onecall/onecall.db"), 256);
    store
        .append_audit(&CORPUS.iter().flat_map(|text| hostile_rows(text)).collect::<Vec<_>>())
        .expect("audit rows");
    let parts = ["", "runs", "inbox", "servers", "tools", "policy", "audit", "audit?denied=1"];
    let mut addresses = parts.map(|part| format!("/page/{part}")).to_vec();
    for (index, text) in CORPUS.iter().enumerate() {
        let id = format!("1m0000000{index:05}");
        store.put_run(&hostile_record(&id, text)).expect("a record");
        hostile_question(&store, &format!("1m1000000{index:05}"), text);
        addresses.extend([
            format!("/page/runs/{id}"),
            format!("/page/runs/{id}/calls/1"),
            format!("/page/runs/{id}/compare"),
            format!("/page/runs/{id}/compare/1m000000000000"),
            format!("/page/runs/{id}/run.html"),
            format!("/page/runs/1m1000000{index:05}"),
            format!("/page/tools/mcp__hostile__tool{index}"),
        ]);
        let query: String =
            url::form_urlencoded::Serializer::new(String::new()).append_pair("text", text).finish();
        addresses.push(format!("/page/runs?{query}&{}", query.replacen("text", "client", 1)));
        addresses.push(format!("/page/tools?{}", query.replacen("text", "q", 1)));
        for name in ["tool", "user", "client", "arguments", "groups"] {
            let query = query.replacen("text", name, 1);
            addresses.push(format!("/page/policy?tool=mcp__hostile__tool{index}&{query}"));
        }
        for name in ["user", "run"] {
            addresses.push(format!("/page/audit?{}", query.replacen("text", name, 1)));
        }
        addresses.push(format!("/page/inbox?{}", query.replacen("text", "question", 1)));
    }
    (home, addresses)
}

/// Checks that a page shows the corpus as text.
pub fn check(address: &str, seen: &Seen) {
    assert!(matches!(seen.status, 200 | 400 | 404), "{address}: {} {}", seen.status, seen.text);
    for markup in MARKUP {
        assert!(!seen.text.contains(markup), "{address} has {markup}: {}", seen.text);
    }
    // Attributes are not shown: what is hidden there comes back with a form as it was.
    let shown = seen.text.split('<').filter_map(|piece| Some(piece.split_once('>')?.1));
    let shown: String = shown.collect();
    for hidden in HIDDEN {
        assert!(!shown.contains(hidden), "{address} shows {hidden:?}");
    }
}

#[test]
fn answers_to_calls_that_are_tried_are_text() {
    let home = Home::new();
    let tools: Vec<_> = (0..CORPUS.len())
        .map(|index| json!({ "name": format!("tool{index}"), "inputSchema": { "type": "object" } }))
        .collect();
    let on: serde_json::Map<String, serde_json::Value> = CORPUS
        .iter()
        .enumerate()
        .map(|(index, text)| {
            let content = json!([{ "type": "text", "text": text }]);
            let answer = json!({ "content": content, "isError": index % 2 == 1 });
            (format!("tools/call tool{index}"), json!([{ "answer": answer }]))
        })
        .collect();
    let script = json!({ "tools": tools, "on": on });
    let server = json!({ "name": "hostile", "command": bins::fixture_server(), "args": ["--script", &script.to_string()] });
    home.write("config.json", json!({ "servers": [server], "records": "full" }).to_string());
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let check_field = browser.check();
    let mut shown = 0;
    for (index, text) in CORPUS.iter().enumerate() {
        let address = format!("/page/tools/mcp__hostile__tool{index}");
        let json: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let mut bodies = vec![format!("check={check_field}")];
        // What a person has typed is given back as it was.
        if !HIDDEN.iter().any(|hidden| text.contains(*hidden)) {
            bodies.push(format!("check={check_field}&json={json}"));
        }
        for body in bodies {
            let seen = browser.post(&address, &body);
            check(&address, &seen);
            shown += usize::from(seen.text.contains("&lt;script&gt;alert(1)"));
        }
    }
    assert!(shown >= 2, "{shown}");
}

#[test]
fn what_a_replay_prints_is_text() {
    let mut server = super::files_server("/dev/null");
    server["env"] = json!({ "KEY": "k3y-of-the-server" });
    let home = Home::new();
    home.write("config.json", json!({ "servers": [server], "records": "full" }).to_string());
    let texts = serde_json::to_string(&CORPUS.join("\n")).expect("a text");
    let same = super::run(&home, &format!("print({texts})\nraise ValueError({texts})"));
    // The key is recorded as another text, so the program prints something else when it runs again.
    let different = format!("print(len('k3y-of-the-server'), {texts})");
    let different = super::run(&home, &different);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let form = format!("check={}", browser.check());
    for (run, words) in [
        (&same, "did the same as in the recorded run"),
        (&different, "The program was recorded with <code>[redacted]</code>"),
    ] {
        let seen = browser.post(&format!("/page/runs/{run}/replay"), &form);
        assert!(seen.text.contains(words), "{}", seen.text);
        assert!(seen.text.contains("&lt;script&gt;alert(1)"), "{}", seen.text);
        check("a replay", &seen);
    }
}

#[test]
fn what_a_stranger_sends_is_text() {
    let gateway = HttpGateway::with_settings(&json!({ "users": {} }));
    let root = personal_token(&gateway, "root", &["admin"]);
    let mut stranger = PageBrowser::new(gateway.address);
    let mut shown = 0;
    for text in CORPUS {
        let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let form = format!("token={text}&next=%2Fpage%2F{text}");
        for (address, form) in [("/page/sign-in", form.as_str()), ("/page/tools/a", form.as_str())]
        {
            let seen = stranger.post(address, form);
            assert!(matches!(seen.status, 401 | 403), "{}", seen.text);
            shown += usize::from(seen.text.contains("&lt;script&gt;alert(1)"));
            check(address, &Seen { status: 200, ..seen });
        }
        for address in ["runs?text=", "sign-in/callback?error=", "enter?key=", ""] {
            let seen = stranger.get(&format!("/page/{address}{text}"));
            check(address, &Seen { status: 200, ..seen });
        }
    }
    assert!(shown > 0);
    // Names that a provider has given.
    let store = rusqlite::Connection::open(gateway.home.path(super::stores::STORE));
    let store = store.expect("the store");
    let names = "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('users')
        WHERE name NOT IN ('name', 'folded', 'groups')";
    let names: String = store.query_row(names, [], |row| row.get(0)).expect("columns");
    let copy = format!(
        "INSERT INTO users (name, folded, groups, {names})
         SELECT ?1, ?1, ?2, {names} FROM users WHERE name = 'root'"
    );
    for text in CORPUS {
        let groups = json!([text]).to_string();
        store.execute(&copy, rusqlite::params![text, groups]).expect("a user");
    }
    let mut browser = PageBrowser::new(gateway.address);
    assert_eq!(browser.post("/page/sign-in", &format!("token={root}")).status, 303);
    let seen = browser.get("/page/users");
    assert!(seen.text.contains("&lt;script&gt;alert(1)"), "{}", seen.text);
    check("/page/users", &seen);
    for text in CORPUS {
        let text: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
        check("a search for users", &browser.get(&format!("/page/users?q={text}")));
    }
}

#[test]
fn hostile_text_is_text_on_every_page() {
    let (home, addresses) = hostile_home();
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let mut shown = 0;
    for address in &addresses {
        let seen = browser.get(address);
        check(address, &seen);
        shown += usize::from(seen.text.contains("&lt;script&gt;alert(1)"));
    }
    // The texts are there, so something was tested.
    assert!(shown > 12, "{shown}");
    let check_field = browser.check();
    let body = format!("check={check_field}&decision=once&arguments=%3Cscript%3Ealert(1)");
    check("an answer", &{
        let seen = browser.post("/page/inbox/1m100000000000.1", &body);
        Seen { status: if seen.status == 409 { 200 } else { seen.status }, ..seen }
    });
}
