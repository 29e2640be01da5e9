//! `GET /metrics`: the numbers of a gateway, and who gets to see them.

use std::collections::{BTreeMap, BTreeSet};

use testkit::process::wait_until;

use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;
use crate::support::raw_http::{HttpResponse, Request};

/// Samples by name and labels, as they are written.
type Samples = BTreeMap<String, f64>;

fn metrics(gateway: &HttpGateway) -> HttpResponse {
    Request::new("GET", "/metrics").send(gateway.address)
}

fn samples(gateway: &HttpGateway) -> Samples {
    let answer = metrics(gateway);
    assert_eq!(answer.status, 200);
    let kind = answer.header("content-type").map(str::to_owned);
    assert_eq!(kind.as_deref(), Some("text/plain; version=0.0.4; charset=utf-8"));
    parse(&answer.text())
}

/// Reads the text format as its specification has it, and no more.
fn parse(page: &str) -> Samples {
    assert!(page.ends_with('\n'));
    let mut samples = Samples::new();
    let mut families = BTreeSet::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a name and words");
            assert!(!words.is_empty() && families.insert(name.to_owned()), "{line}");
            let typed = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (again, is) = typed.and_then(|typed| typed.split_once(' ')).expect("a type");
            assert_eq!(name, again);
            assert!(["counter", "gauge", "histogram"].contains(&is), "{is}");
            assert_eq!(is == "counter", name.ends_with("_total"), "{name}");
            (family, kind) = (name.to_owned(), is.to_owned());
            continue;
        }
        let (key, value) = line.rsplit_once(' ').expect("a sample and its value");
        let name = key.split('{').next().unwrap_or_default();
        let suffix = name.strip_prefix(&*family).unwrap_or_else(|| panic!("{line} in {family}"));
        let suffixes: &[&str] =
            if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(suffixes.contains(&suffix), "{line}");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        check_labels(&key[name.len()..]);
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(samples.insert(key.to_owned(), value).is_none(), "{line} comes twice");
    }
    check_histograms(&samples);
    samples
}

/// `{name="value",…}`, with what could be misread escaped.
fn check_labels(labels: &str) {
    let Some(inner) = labels.strip_prefix('{') else { return assert_eq!(labels, "") };
    let mut rest = inner.strip_suffix('}').expect("a brace");
    loop {
        let (name, after) = rest.split_once("=\"").expect("a label");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase()), "{labels}");
        let mut escaped = false;
        let end = after.find(|letter| {
            let ends = letter == '"' && !escaped;
            assert!(!escaped || "\\\"n".contains(letter), "{labels}");
            escaped = letter == '\\' && !escaped;
            ends
        });
        rest = &after[end.expect("an end") + 1..];
        match rest.strip_prefix(',') {
            Some(more) => rest = more,
            None => return assert_eq!(rest, "", "{labels}"),
        }
    }
}

/// Buckets only grow, and the last counts all.
fn check_histograms(samples: &Samples) {
    let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for (key, count) in samples {
        let Some((series, bound)) = key.split_once("le=\"") else { continue };
        let bound = bound.trim_end_matches("\"}").replace("+Inf", "inf");
        let series = series.replace("_bucket", "_count").trim_end_matches(',').to_owned() + "}";
        buckets.entry(series).or_default().push((bound.parse().expect("a bound"), *count));
    }
    for (series, mut buckets) in buckets {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(buckets.is_sorted_by(|one, other| one.1 <= other.1), "{series}: {buckets:?}");
        assert_eq!(buckets.last().map(|last| last.1), samples.get(&series).copied(), "{series}");
        assert!(samples.contains_key(&series.replace("_count", "_sum")), "{series}");
    }
}

#[test]
fn runs_and_calls_are_counted() {
    let gateway = HttpGateway::new();
    let client = gateway.client();
    assert_eq!(client.run(1, "print(await mcp__fixture__add(1, 2))"), ok("3\n"));
    client.run(2, "await mcp__fixture__add(1, 2)\nawait mcp__fixture__fail(message='no')");
    client.run(3, "values = ['one', []]\nawait mcp__fixture__add(*values)");
    client.run(4, "await mcp__fixture__add('one', [])");
    client.run(5, "import time\nprint(1)");

    let samples = samples(&gateway);
    let of = |key: &str| samples.get(key).copied().unwrap_or_default();
    assert_eq!(of(r#"onecall_runs_total{engine="python",outcome="success"}"#), 2.0);
    assert_eq!(of(r#"onecall_runs_total{engine="python",outcome="error"}"#), 2.0);
    assert_eq!(of(r#"onecall_runs_total{engine="auto",outcome="refused"}"#), 1.0);
    assert_eq!(of(r#"onecall_run_duration_seconds_count{engine="python"}"#), 4.0);
    assert_eq!(of(r#"onecall_tool_calls_total{server="fixture",outcome="success"}"#), 2.0);
    assert_eq!(of(r#"onecall_tool_calls_total{server="fixture",outcome="error"}"#), 1.0);
    assert_eq!(of(r#"onecall_tool_calls_total{server="fixture",outcome="refused"}"#), 1.0);
    assert_eq!(of(r#"onecall_tool_call_duration_seconds_count{server="fixture"}"#), 4.0);
    assert_eq!(of("onecall_programs_running"), 0.0);
    assert_eq!(of(r#"onecall_server_up{server="fixture"}"#), 1.0);
    assert!(of(r#"onecall_workers_started_total{engine="python"}"#) >= 4.0);
    assert_eq!(of(r#"onecall_workers_started_total{engine="typescript"}"#), 0.0);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(of(&format!(r#"onecall_build_info{{version="{version}"}}"#)), 1.0);
    assert!(samples.contains_key(r#"onecall_cache_lookups_total{result="hit"}"#));
    assert!(samples.contains_key(r#"onecall_cache_lookups_total{result="miss"}"#));
}

#[test]
fn what_runs_and_what_is_called_off_is_counted_too() {
    let (gateway, received) = HttpGateway::start(&[], |_| {});
    let client = gateway.client();
    let program = client.start(1, "await mcp__fixture__hang()", "t");
    received.wait_for_call("hang");
    assert_eq!(samples(&gateway)["onecall_programs_running"], 1.0);
    let params = serde_json::json!({ "requestId": 1, "reason": "enough" });
    client.notify(&serde_json::json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params,
    }));
    let cancelled = r#"onecall_runs_total{engine="auto",outcome="cancelled"}"#;
    let is_counted = || samples(&gateway).contains_key(cancelled);
    assert!(wait_until(TIMEOUT, is_counted), "{:?}", samples(&gateway));
    let samples = samples(&gateway);
    assert_eq!(samples["onecall_programs_running"], 0.0);
    let call = r#"onecall_tool_calls_total{server="fixture",outcome="cancelled"}"#;
    assert_eq!(samples[call], 1.0);
    drop(program);
}

#[test]
fn programs_that_wait_and_the_memory_of_those_that_run_are_shown() {
    let mebibytes = |number: f64| number * 1024.0 * 1024.0;
    let execution =
        serde_json::json!({ "max_programs": 1, "memory_mb": 64, "max_total_memory_mb": 100 });
    let gateway = HttpGateway::with_settings(&serde_json::json!({ "execution": execution }));
    let client = gateway.client();
    let names = ["programs_waiting", "memory_reserved_bytes", "memory_limit_bytes"];
    let shown = || names.map(|name| samples(&gateway)[&format!("onecall_{name}")]);
    assert_eq!(shown(), [0.0, 0.0, mebibytes(100.0)]);
    let _runs = client.start(1, "await mcp__fixture__hang()", "t");
    assert!(wait_until(TIMEOUT, || shown() == [0.0, mebibytes(64.0), mebibytes(100.0)]));
    let _waits = client.start(2, "await mcp__fixture__hang()", "u");
    assert!(wait_until(TIMEOUT, || shown() == [1.0, mebibytes(64.0), mebibytes(100.0)]));
}

/// Names that programs make up are no labels.
#[test]
fn a_program_cannot_make_numbers_of_its_own() {
    let gateway = HttpGateway::new();
    let client = gateway.client();
    client.run(1, "await mcp__fixture__nonsense()");
    client.run(2, "await mcp__nowhere__tool()");
    client.run(3, "await tools['mcp__made_up__x']()");
    let page = metrics(&gateway).text();
    parse(&page);
    assert!(!page.contains("made_up") && !page.contains("nonsense"), "{page}");
    assert!(!page.contains("nowhere"), "{page}");
}

#[test]
fn the_numbers_are_behind_the_same_door() {
    let gateway = HttpGateway::with(&["--token", "open-sesame-1234"]);
    assert_eq!(metrics(&gateway).status, 401);
    let asked = |method: &'static str| {
        Request::new(method, "/metrics").header("Authorization", "Bearer open-sesame-1234")
    };
    assert_eq!(asked("GET").send(gateway.address).status, 200);
    assert_eq!(asked("HEAD").send(gateway.address).status, 200);
    assert_eq!(asked("POST").send(gateway.address).status, 405);
    let stranger = asked("GET").header("Host", "evil.example");
    assert_eq!(stranger.send_unchanged(gateway.address).status, 403);
    let page = asked("GET").header("Origin", "https://evil.example");
    assert_eq!(page.send(gateway.address).status, 403);
}

fn ok(output: &str) -> String {
    format!("[Script executed successfully]\n{output}")
}
