//! Runs on the page: the list with its filters, a run as its program, and its files.

use serde_json::{Value, json};

use super::stores::STORE;
use super::{PageProcess, recorded_home, run};
use crate::support::Home;

const PROGRAM: &str = "\
import asyncio
names = ['a', 'b', 'c']
found = await asyncio.gather(*[mcp__files__read(path=name) for name in names])
print('<b>', len(found))
one = await mcp__files__read(path='d')
raise ValueError('nothing <i>here</i>')
";

#[test]
fn a_run_is_shown_as_its_program() {
    let home = recorded_home(&json!({}));
    let failed = run(&home, PROGRAM);
    let good = run(&home, "print('fine', await mcp__files__read(path='x'))");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();

    let seen = browser.get(&format!("/page/runs/{failed}"));
    assert_eq!(seen.status, 200, "{}", seen.text);
    let text = &seen.text;
    // The calls stand beside the lines that made them.
    let line = |number: usize| {
        let (_, rest) = text.split_once(&format!("id=\"line-{number}\"")).expect("the line");
        rest.split("</tr>").next().expect("its end").to_owned()
    };
    assert!(line(3).contains("3× files__read") && line(3).contains(" · "), "{}", line(3));
    assert!(line(5).contains(">files__read</a>"), "{}", line(5));
    assert!(line(6).contains("failed here"), "{}", line(6));
    assert!(!line(2).contains("files__read"), "{}", line(2));
    assert!(text.contains("&lt;b&gt; 3") && text.contains("ValueError"), "{text}");
    assert!(text.contains("nothing &lt;i&gt;here&lt;/i&gt;"), "{text}");
    assert!(text.contains("role=\"img\" aria-label=\"4 calls on a time line"), "{text}");

    // One call, with its arguments and its answer.
    let call = browser.get(&format!("/page/runs/{failed}/calls/4"));
    assert!(call.text.contains("&quot;path&quot;: &quot;d&quot;"), "{}", call.text);
    assert!(call.text.contains("&quot;lines&quot;: 12"), "{}", call.text);
    assert_eq!(browser.get(&format!("/page/runs/{failed}/calls/5")).status, 404);

    // Files for a colleague.
    let file = browser.get(&format!("/page/runs/{failed}/run.json"));
    let whole: Value = serde_json::from_str(&file.text).expect("JSON");
    assert_eq!(whole["tool_calls"].as_array().map(Vec::len), Some(4));
    assert_eq!(
        file.header("content-disposition"),
        format!("attachment; filename=\"{failed}.json\"")
    );
    let file = browser.get(&format!("/page/runs/{failed}/run.html"));
    assert!(
        file.text.starts_with("<!DOCTYPE html>") && !file.text.contains("<script"),
        "{}",
        file.text
    );
    assert!(file.text.contains("3× files__read"), "{}", file.text);

    // Two runs beside each other.
    let compared = browser.get(&format!("/page/runs/{failed}/compare/{good}"));
    assert!(
        compared.text.contains("class=\"removed\"") && compared.text.contains("class=\"added\"")
    );
    for target in ["x", &failed[..failed.len() - 1], "..%2f..", ""] {
        assert_eq!(browser.get(&format!("/page/runs/{failed}/compare/{target}x")).status, 404);
    }
}

#[test]
fn a_recorded_program_runs_again() {
    let home = recorded_home(&json!({}));
    let id = run(&home, "import time\nprint(await mcp__files__read(path='x'), time.time())");
    let failed = run(&home, PROGRAM);
    let calls =
        || std::fs::read_to_string(home.path("received")).unwrap().matches("tools/call").count();
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let (check, before) = (browser.check(), calls());
    assert!(browser.get(&format!("/page/runs/{id}")).text.contains(">Replay</button>"));
    for id in [&id, &failed] {
        let seen = browser.post(&format!("/page/runs/{id}/replay"), &format!("check={check}"));
        assert_eq!(seen.status, 200, "{}", seen.text);
        assert!(seen.text.contains("did the same as in the recorded run"), "{}", seen.text);
    }
    // The record has answered, and no server.
    assert_eq!(calls(), before);
    assert_eq!(browser.post("/page/runs/nothing/replay", &format!("check={check}")).status, 404);
}

#[test]
fn runs_are_found_by_what_they_did() {
    let home = recorded_home(&json!({}));
    let failed = run(&home, PROGRAM);
    let good = run(&home, "print('needle')");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let mut listed = |query: &str| {
        let seen = browser.get(&format!("/page/runs{query}"));
        assert_eq!(seen.status, 200, "{query}: {}", seen.text);
        [&failed, &good].map(|id| seen.text.contains(&format!("/page/runs/{id}\"")))
    };
    let rows = [
        ("", [true, true]),
        ("?outcome=ok", [false, true]),
        ("?outcome=failed", [true, false]),
        ("?tool=files__read", [true, false]),
        ("?server=files", [true, false]),
        ("?server=other", [false, false]),
        ("?text=needle", [false, true]),
        ("?text=nothing+%3Ci%3E", [true, false]),
        ("?client=command", [true, true]),
        ("?client=agent", [false, false]),
        ("?until=2020-01-01", [false, false]),
        ("?since=2020-01-01", [true, true]),
    ];
    for (query, expected) in rows {
        assert_eq!(listed(query), expected, "{query}");
    }
    let seen = browser.get("/page/runs?since=yesterday");
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("&#39;yesterday&#39;") || seen.text.contains("'yesterday'"));
}

#[test]
fn a_run_with_very_many_calls_stays_small() {
    let home = recorded_home(&json!({ "execution": { "max_tool_calls": 3000 } }));
    let program = "\
import asyncio
for _ in range(20):
    await asyncio.gather(*[mcp__files__read(path=str(n)) for n in range(100)])
";
    let id = run(&home, program);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    for target in ["", "?page=7", "?page=40", "?line=3&only=failed", "?from=1000&to=2000"] {
        let seen = browser.get(&format!("/page/runs/{id}{target}"));
        assert_eq!(seen.status, 200, "{target}");
        assert!(seen.text.len() < 100_000, "{target}: {}", seen.text.len());
    }
    let seen = browser.get(&format!("/page/runs/{id}"));
    assert!(seen.text.contains("2000× files__read"), "{}", seen.text);
}

#[test]
fn pictures_that_a_program_shows_are_kept() {
    let home = recorded_home(&json!({}));
    let shown = run(
        &home,
        "png = bytes.fromhex('89504e470d0a1a0a')\n\
         display(png + b'<script>alert(1)</script>')\n\
         display(png + bytes(2_000_000))\n\
         display(b'\\xff\\xd8\\xff\\xe0')\n",
    );
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let address = format!("/page/runs/{shown}");
    let seen = browser.get(&address);
    for number in ["0", "2"] {
        assert!(seen.text.contains(&format!("{address}/pictures/{number}\"")), "{}", seen.text);
    }
    assert!(seen.text.contains("Picture 2 was not kept"), "{}", seen.text);
    assert!(seen.header("content-security-policy").contains("img-src 'self' data:;"));
    let picture = browser.get(&format!("{address}/pictures/0"));
    assert_eq!((picture.status, picture.header("content-type")), (200, "image/png"));
    assert_eq!(picture.header("x-content-type-options"), "nosniff");
    let policy = "default-src 'none'; sandbox; frame-ancestors 'none'";
    assert_eq!(picture.header("content-security-policy"), policy);
    assert_eq!(browser.get(&format!("{address}/pictures/2")).header("content-type"), "image/jpeg");
    for missing in ["1", "3", "-1", "x"] {
        assert_eq!(browser.get(&format!("{address}/pictures/{missing}")).status, 404, "{missing}");
    }
    let file = browser.get(&format!("{address}/run.html")).text;
    assert!(file.contains("src=\"data:image/jpeg;base64,/9j/4A==\""), "{file}");
    assert!(file.contains("http-equiv=\"Content-Security-Policy\""), "{file}");
    let whole: Value =
        serde_json::from_str(&browser.get(&format!("{address}/run.json")).text).expect("JSON");
    assert_eq!(whole["pictures"][2], json!({ "media_type": "image/jpeg", "base64": "/9j/4A==" }));
    // A record without outputs has no pictures.
    let home = recorded_home(&json!({ "records": "metadata" }));
    let shown = run(&home, "display(bytes.fromhex('89504e470d0a1a0a'))");
    let page = PageProcess::start(&home);
    let address = format!("/page/runs/{shown}");
    assert_eq!(page.browser().get(&format!("{address}/pictures/0")).status, 404);
}

/// Adds copies of a run that are newer and have another program.
fn add_copies(home: &Home, id: &str, count: u32) {
    let store = rusqlite::Connection::open(home.path(STORE)).expect("the store");
    let names = "SELECT group_concat('\"' || name || '\"') FROM pragma_table_info('runs')
        WHERE name NOT IN ('id', 'started_ms', 'program', 'output')";
    let names: String = store.query_row(names, [], |row| row.get(0)).expect("columns");
    let copies = format!(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
         INSERT INTO runs (id, started_ms, program, {names})
         SELECT 'copy' || n, started_ms + n, 'print(2)', {names} FROM runs, numbers WHERE id = ?2"
    );
    store.execute(&copies, rusqlite::params![count, id]).expect("copies");
}

#[test]
fn a_search_goes_on_with_older_runs() {
    let home = recorded_home(&json!({}));
    let id = run(&home, "print('needle')");
    add_copies(&home, &id, 10_001);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let link = format!("href=\"/page/runs/{id}\"");
    let first = browser.get("/page/runs?text=needle").text;
    assert!(first.contains("Searched 10 k runs, back to ") && !first.contains(&link), "{first}");
    let older = first.split("href=\"?").nth(1).and_then(|rest| rest.split('"').next());
    let older = older.expect("a link to older runs").replace("&amp;", "&");
    let second = browser.get(&format!("/page/runs?{older}")).text;
    assert!(second.contains(&link) && !second.contains("Search older runs"), "{second}");
}
