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
        ("?text=no+such+file", [false, false]),
        ("?text=%22d%22", [true, false]),
        ("?server=file", [true, false]),
        ("?outcome=raised", [true, false]),
        ("?outcome=timed_out", [false, false]),
        ("?outcome=waiting", [false, false]),
        ("?client=command", [true, true]),
        ("?client=agent", [false, false]),
        ("?until=2020-01-01", [false, false]),
        ("?since=2020-01-01", [true, true]),
    ];
    for (query, expected) in rows {
        assert_eq!(listed(query), expected, "{query}");
    }
    let by_id = |id: &str| format!("/page/runs?text={id}");
    let seen = browser.get(&by_id(&good));
    assert!(seen.text.contains(&format!("/page/runs/{good}\"")), "{}", seen.text);
    assert!(!seen.text.contains(&format!("/page/runs/{failed}\"")), "{}", seen.text);
    // The form of a filter that cannot be used is given back.
    let seen = browser.get("/page/runs?since=yesterday&text=needle");
    assert_eq!(seen.status, 400);
    assert!(seen.text.contains("&#39;yesterday&#39;") || seen.text.contains("'yesterday'"));
    assert!(seen.text.contains("name=\"text\" value=\"needle\""), "{}", seen.text);
    assert!(seen.text.contains("name=\"since\" value=\"yesterday\""), "{}", seen.text);
    // Days begin and end in UTC, which the form says.
    assert!(seen.text.contains(">From, in UTC<") && seen.text.contains(">To, in UTC<"));
    // The class of an error is not a part of its text.
    let class = run(&home, "print([][1])");
    let seen = browser.get("/page/runs?text=IndexError");
    assert!(seen.text.contains(&format!("/page/runs/{class}\"")), "{}", seen.text);
    assert!(!seen.text.contains(&format!("/page/runs/{good}\"")), "{}", seen.text);
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
    for target in ["", "?after=300", "?after=1980", "?line=3&only=failed", "?from=1000&to=2000"] {
        let seen = browser.get(&format!("/page/runs/{id}{target}"));
        assert_eq!(seen.status, 200, "{target}");
        assert!(seen.text.len() < 100_000, "{target}: {}", seen.text.len());
    }
    let seen = browser.get(&format!("/page/runs/{id}"));
    assert!(seen.text.contains("2000× files__read"), "{}", seen.text);
}

/// The texts of a page, by what stands before and after them.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    text.split(before).skip(1).filter_map(|rest| rest.split(after).next()).collect()
}

#[test]
fn a_long_program_with_many_calls_stays_small_and_whole() {
    let home = recorded_home(&json!({ "execution": { "max_tool_calls": 3000 } }));
    let mut program = String::new();
    for line in 0..299 {
        let argument = "y".repeat(20);
        program.push_str(&format!("await mcp__files__read(path='{argument} {line} & <b>')\n"));
    }
    program.push_str("raise ValueError(await mcp__files__read(path='z') and 'the end')\n");
    let id = run(&home, &program);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let (mut address, mut lines) = (format!("/page/runs/{id}"), Vec::<usize>::new());
    loop {
        let seen = browser.get(&address);
        assert!(seen.text.len() < 100_000, "{address}: {}", seen.text.len());
        let shown = between(&seen.text, "id=\"line-", "\"");
        lines.extend(shown.iter().map(|line| line.parse::<usize>().unwrap()));
        let Some((before, _)) = seen.text.split_once("\">Lines after</a>") else { break };
        let (_, query) = before.rsplit_once("href=\"").expect("a link");
        address = format!("/page/runs/{id}{}", query.replace("&amp;", "&"));
    }
    assert_eq!(lines, (1..=300).collect::<Vec<_>>());
    // The error is at a line that the first page does not have, and its link leads there.
    let seen = browser.get(&format!("/page/runs/{id}"));
    let link = between(&seen.text, " in <a href=\"", "\"").into_iter().next().expect("a link");
    let link = link.replace("&amp;", "&");
    assert!(link.ends_with("#line-300"), "{link}");
    let target = link.split('#').next().unwrap();
    let seen = browser.get(target);
    assert!(seen.text.contains("id=\"line-300\""), "{target}: {}", seen.text);
    // The links of calls lead to their lines, too.
    let seen = browser.get(&format!("/page/runs/{id}?after=290"));
    assert!(seen.text.contains("?after=290&amp;at=286#line-291"), "{}", seen.text);
    let seen = browser.get(&format!("/page/runs/{id}/calls/291"));
    assert!(seen.text.contains(&format!("/page/runs/{id}?at=286#line-291")), "{}", seen.text);
}

#[test]
fn calls_that_ran_at_once_are_all_drawn() {
    let home = recorded_home(&json!({ "execution": { "max_parallel_calls": 64 } }));
    let program = "\
import asyncio
await asyncio.gather(*[mcp__files__read(path=str(n)) for n in range(64)])
";
    let id = run(&home, program);
    let page = PageProcess::start(&home);
    let text = page.browser().get(&format!("/page/runs/{id}")).text;
    let picture = between(&text, "<svg class=\"timeline\"", "</svg>");
    assert_eq!(picture[0].matches("<rect").count(), 64, "{}", picture[0]);
}

#[test]
fn a_large_call_is_shown_in_part_and_whole_as_a_file() {
    let home = recorded_home(&json!({}));
    let id = run(&home, "print(await mcp__files__read(path='\"<&' * 30000))");
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let call = format!("/page/runs/{id}/calls/1");
    let seen = browser.get(&call);
    assert!(seen.status == 200 && seen.text.len() < 100_000, "{}", seen.text.len());
    assert!(seen.text.contains(&format!("{call}/arguments.txt")), "{}", seen.text);
    let file = browser.get(&format!("{call}/arguments.txt"));
    assert!(file.header("content-disposition").starts_with("attachment"), "{file:?}");
    let whole: Value = serde_json::from_str(&file.text).expect("JSON");
    assert_eq!(whole["path"].as_str().map(str::len), Some(90_000));
    assert_eq!(browser.get(&format!("{call}/error.txt")).status, 404);
    assert_eq!(browser.get(&format!("{call}/other.txt")).status, 404);
}

#[test]
fn what_was_denied_and_what_failed_stands_beside_the_line() {
    let home = recorded_home(&json!({ "audit": "full", "policy": "policy.cedar" }));
    let policies = "permit (principal, action, resource);\n@reason(\"no <b>deleting</b>\")\n\
                    forbid (principal, action == Action::\"mcp__files__delete\", resource)\n\
                    when { context.input.path == \"x\" };\n";
    home.write("policy.cedar", policies);
    let id = run(&home, "await mcp__files__read(path='a')\nawait mcp__files__delete(path='x')");
    let page = PageProcess::start(&home);
    let text = page.browser().get(&format!("/page/runs/{id}")).text;
    let line = between(&text, "id=\"line-2\"", "</tr>")[0];
    assert!(line.contains("denied by") && line.contains("policy.cedar:"), "{line}");
    assert!(line.contains("failed: <a class=\"bad\" href="), "{line}");
    assert!(line.contains(&format!("/page/runs/{id}/calls/2\"")), "{line}");
    assert!(line.contains("is not permitted") && !line.contains("<b>"), "{line}");
}

#[test]
fn a_line_that_is_cut_is_whole_as_a_file() {
    let home = recorded_home(&json!({}));
    let line = format!("print(len('{} the end'))", "x".repeat(500));
    let id = run(&home, &line);
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let seen = browser.get(&format!("/page/runs/{id}"));
    assert!(!seen.text.contains("the end"), "{}", seen.text);
    let whole = format!("/page/runs/{id}/program.txt");
    assert!(seen.text.contains(&format!("href=\"{whole}\"")), "{}", seen.text);
    assert!(browser.get(&whole).text.contains("the end"));
    // A file for a colleague has no links, and the whole program.
    assert!(browser.get(&format!("/page/runs/{id}/run.html")).text.contains("the end"));
}

#[test]
fn runs_without_recorded_arguments_are_compared_by_hashes() {
    let home = recorded_home(&json!({ "records": "metadata" }));
    let page = PageProcess::start(&home);
    let mut browser = page.browser();
    let one = run(&home, "print(await mcp__files__read(path='a'))");
    let seen = browser.get(&format!("/page/runs/{one}/compare"));
    assert!(seen.text.contains("There is no other run."), "{}", seen.text);
    let same = run(&home, "print(await mcp__files__read(path='a'))");
    let other = run(&home, "print(await mcp__files__read(path='b'))");
    let calls = |text: &str| between(text, "<h2>Calls</h2>", "</section>")[0].to_owned();
    let seen = browser.get(&format!("/page/runs/{one}/compare/{same}"));
    assert!(calls(&seen.text).contains("The same."), "{}", seen.text);
    assert!(seen.text.contains("the hashes of arguments"), "{}", seen.text);
    let seen = browser.get(&format!("/page/runs/{one}/compare/{other}"));
    assert!(calls(&seen.text).contains("class=\"removed\""), "{}", seen.text);
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
