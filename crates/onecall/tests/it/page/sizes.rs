//! Pages are small, also with texts that take many times their length in a page.

use std::sync::Arc;
use std::time::Duration;

use onecall_core::Timestamp;
use onecall_core::storage::{RunRecord, RunStore as _, RunSummary};
use onecall_store::SqliteStore;
use serde_json::{Value, json};
use testkit::bins;

use super::injection::{hostile_question, hostile_record};
use super::stores::STORE;
use super::{PageBrowser, PageProcess};
use crate::support::Home;

/// The limit of every page, in bytes.
const LIMIT: usize = 100_000;

/// A text whose characters take five to eight bytes in a page.
fn growing(length: usize) -> String {
    "\"&\u{200b}\"".chars().cycle().take(length).collect()
}

/// Reads a page, which has to be small.
fn small(browser: &mut PageBrowser, address: &str) -> String {
    let seen = browser.get(address);
    assert_eq!(seen.status, 200, "{address}: {}", seen.text);
    assert!(seen.text.len() < LIMIT, "{address} has {} bytes", seen.text.len());
    seen.text
}

/// The address that a link with this text leads to.
fn link(text: &str, title: &str) -> Option<String> {
    let (before, _) = text.split_once(&format!("\">{title}</a>"))?;
    let (_, query) = before.rsplit_once("href=\"")?;
    Some(query.replace("&amp;", "&"))
}

/// The runs that a page lists.
fn runs(text: &str) -> impl Iterator<Item = String> {
    let links = text.split("class=\"id\" href=\"/page/runs/").skip(1);
    links.filter_map(|rest| rest.split('"').next()).map(str::to_owned)
}

/// A home with a store that is open in this test, too.
fn home_with_store(config: &Value) -> (Home, Arc<SqliteStore>) {
    let home = Home::new();
    home.write("config.json", config.to_string());
    let store = onecall_store::open_durable(home.path(STORE), 256);
    (home, store)
}

#[test]
fn the_list_of_runs_is_small_and_whole() {
    let (home, store) = home_with_store(&json!({ "servers": [], "approvals": { "ask": ["*"] } }));
    let mut expected = Vec::new();
    for number in 0..60 {
        let ended = format!("1m0000000{number:05}");
        store.put_run(&hostile_record(&ended, &growing(200))).expect("a record");
        let waiting = format!("1m1000000{number:05}");
        hostile_question(&store, &waiting, &growing(200));
        expected.extend([ended, waiting]);
    }
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let first = small(&mut browser, "/page/runs");
    let mut listed: Vec<String> = runs(&first).collect();
    for title in ["More runs that have not ended", "Older runs"] {
        let mut text = first.clone();
        while let Some(query) = link(&text, title) {
            text = small(&mut browser, &format!("/page/runs{query}"));
            // Every first page has the ended runs of the first page, too.
            listed.extend(runs(&text).filter(|run| !runs(&first).any(|known| known == *run)));
        }
    }
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);

    // Filters are repeated in the form and in the links.
    let filter = "%22".repeat(130);
    let query = format!("?text={filter}&tool={filter}&server={filter}&client={filter}");
    small(&mut browser, &format!("/page/runs{query}"));
    let empty = "&".repeat(1_900);
    for part in ["runs", "tools"] {
        small(&mut browser, &format!("/page/{part}?{empty}"));
    }
    let seen = browser.get(&format!("/page/runs?text={}", "x".repeat(2_000)));
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("the address is too long"), "{}", seen.text);
}

/// A record with this tool that began so long ago.
fn earlier(number: usize, ago: Duration, tool: &str) -> RunRecord {
    let record = hostile_record(&format!("1m0000000{number:05}"), tool);
    let started = Timestamp::now().before(ago);
    let duration = Duration::from_micros(1_234_567 + u64::try_from(number).unwrap_or(0));
    let mut calls = record.calls.clone();
    for call in &mut calls {
        call.duration = Some(duration);
        call.cached = number.is_multiple_of(2);
    }
    let (call_count, failed_calls, cached_calls) = (123_456, 12_345, 54_321);
    let run =
        RunSummary { started, duration, call_count, failed_calls, cached_calls, ..record.run };
    RunRecord { run, calls, ..record }
}

#[test]
fn the_overview_is_small_with_all_charts_and_lists_full() {
    let (home, store) = home_with_store(&json!({ "servers": [] }));
    let hour = Duration::from_secs(3_600);
    let moments = (0..24).map(|it| hour * it).chain((0..28).map(|it| 6 * hour * it));
    let moments = moments.chain((0..30).map(|it| 24 * hour * it));
    for (number, ago) in moments.enumerate() {
        // Names that the filter for runs takes, and longer ones.
        let tool =
            format!("{}{}", number % 20, growing(if number.is_multiple_of(2) { 190 } else { 900 }));
        store.put_run(&earlier(number, ago, &tool)).expect("a record");
    }
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for period in ["day", "week", "month"] {
        let text = small(&mut browser, &format!("/page/?period={period}"));
        assert!(text.matches("<rect ").count() > 100, "{text}");
        assert!(text.contains("Most failing tools") && text.contains("&quot;&amp;"), "{text}");
    }
}

#[test]
fn tools_are_listed_and_shown_on_small_pages() {
    let text = growing(20_000);
    let choices: Vec<String> =
        (0..100).map(|number| format!("{number}{}", "\"".repeat(50))).collect();
    let schema = json!({ "type": "object", "properties": {
        "chosen": { "type": "string", "enum": choices },
        text.as_str(): { "type": "string" },
        "plain": { "type": "string", "description": text },
    } });
    let tools: Vec<Value> = (0..100)
        .map(|number| json!({ "name": format!("tool{number}"), "description": text, "inputSchema": schema }))
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.json");
    std::fs::write(&file, json!({ "tools": tools, "on": {} }).to_string()).expect("a file");
    let args = [json!("--script-file"), json!(file)];
    let mut servers =
        vec![json!({ "name": "hostile", "command": bins::fixture_server(), "args": args })];
    let name = "n".repeat(50);
    // The form for the search has no list of so many servers.
    let idle = |number| json!({ "name": format!("{name}{number}"), "command": "/nowhere/server" });
    servers.extend((0..100).map(idle));
    let (home, _store) = home_with_store(&json!({ "servers": servers }));
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let (mut address, mut listed) = ("/page/tools?server=hostile".to_owned(), Vec::new());
    loop {
        let text = small(&mut browser, &address);
        assert!(text.contains("type=\"search\" name=\"server\" value=\"hostile\""), "{text}");
        let links = text.split("<li><a href=\"/page/tools/").skip(1);
        listed.extend(links.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
        let Some(query) = link(&text, "More tools") else { break };
        address = format!("/page/tools{query}");
    }
    let count = listed.len();
    listed.sort();
    listed.dedup();
    assert_eq!((count, listed.len()), (100, 100));

    let tool = "/page/tools/mcp__hostile__tool7";
    let shown = small(&mut browser, tool);
    assert!(shown.contains("name=\"arg.plain\""), "{shown}");
    assert!(shown.contains("arguments have no field here"), "{shown}");
    // What was typed is given back, however long it is.
    let check = browser.check();
    let typed = "t".repeat(50_000);
    let seen = browser.post(tool, &format!("check={check}&arg.plain={typed}&json=%5B1%5D"));
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains(&typed), "{}", seen.text.len());
}
