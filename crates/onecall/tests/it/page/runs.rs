//! Runs on the page: the list with its filters, a run as its program, and its files.

use serde_json::{Value, json};

use super::{PageProcess, recorded_home, run};

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
