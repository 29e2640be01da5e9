//! Every page, in both themes and on a phone.

use serde_json::json;
use testkit::browser::Theme;

use super::{OpenPage, has_browser};
use crate::page::{Background, PageProcess, recorded_home, run};
use crate::support::TIMEOUT;
use crate::support::http_gateway::HttpGateway;
use crate::users::personal_token;

const PROGRAM: &str = "\
import asyncio
names = ['a', 'b', 'c', 'd']
found = await asyncio.gather(*[mcp__files__read(path=name) for name in names])
for name, entry in zip(names, found):
    print(name, entry['lines'])
again = await mcp__files__read(path='a')
";

/// A program that shows a picture.
const PICTURE: &str = "\
import struct, zlib
part = lambda kind, data: struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
rows = b''.join(b'\\0' + bytes(value for x in range(160) for value in (x, y * 2, 160)) for y in range(90))
display(b'\\x89PNG\\r\\n\\x1a\\n' + part(b'IHDR', struct.pack('>IIBBBBB', 160, 90, 8, 2, 0, 0, 0))
    + part(b'IDAT', zlib.compress(rows)) + part(b'IEND', b''))
";

#[test]
fn every_page_is_clean_in_both_themes() {
    if !has_browser() {
        return;
    }
    let home = recorded_home(&json!({
        "approvals": { "ask": ["mcp__files__delete"], "wait_seconds": 60 },
        "audit": "full", "policy": "policy.cedar", "cache": { "include": ["mcp__files__read"] },
    }));
    home.write("policy.cedar", "permit (principal, action, resource);\n");
    let good = run(&home, PROGRAM);
    let failed = run(&home, &format!("{PROGRAM}raise ValueError('no')\n"));
    let drawn = run(&home, PICTURE);
    let waiting = "print(await mcp__files__delete(path='old.txt'))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", waiting]));
    let open = OpenPage::new(PageProcess::start(&home), 1280, 900);
    open.open("/page/inbox");
    assert!(open.browser.becomes("document.querySelector('[data-question]')"), "nothing waits");
    let item =
        open.browser.script("return document.querySelector('[data-question]').dataset.question");
    let (waiting_run, _) = item.as_str().and_then(|item| item.split_once('.')).expect("a run");
    let explained = "/page/policy?tool=mcp__files__read&arguments=%7B%22path%22%3A%22a%22%7D";
    let pages = [
        ("overview", "/page/".to_owned()),
        ("runs", "/page/runs".to_owned()),
        ("run", format!("/page/runs/{good}")),
        ("picture", format!("/page/runs/{drawn}")),
        ("failed-run", format!("/page/runs/{failed}")),
        ("waiting-run", format!("/page/runs/{waiting_run}")),
        ("call", format!("/page/runs/{good}/calls/2")),
        ("compare", format!("/page/runs/{good}/compare/{failed}")),
        ("compare-choice", format!("/page/runs/{good}/compare")),
        ("inbox", "/page/inbox".to_owned()),
        ("servers", "/page/servers".to_owned()),
        ("tools", "/page/tools".to_owned()),
        ("tool", "/page/tools/mcp__files__delete".to_owned()),
        ("policy", explained.to_owned()),
        ("audit", "/page/audit".to_owned()),
        ("empty", "/page/runs?text=nothing+has+this".to_owned()),
    ];
    // What the first page has requested is checked with it.
    for theme in Theme::ALL {
        open.browser.set_theme(theme);
        for (name, target) in &pages {
            open.open(target);
            let loaded = "[...document.images].every((it) => it.complete && it.naturalWidth > 0)";
            assert!(open.browser.becomes(loaded), "{name}: a picture is not shown");
            open.check(&format!("{name}, {}", theme.name()));
            open.picture(name, theme);
        }
    }
    // Times are in the reader's zone, which the script shows without the word for ours.
    open.open("/page/runs");
    let time = open.browser.script("return document.querySelector('tbody time').textContent");
    assert!(!time.as_str().is_some_and(|time| time.contains("UTC")), "{time}");

    // On a phone nothing is wider than the screen.
    let phone = OpenPage::new(PageProcess::start(&home), 500, 900);
    for (name, target) in &pages {
        phone.open(target);
        let width =
            phone.browser.script("return document.documentElement.scrollWidth - innerWidth");
        assert!(width.as_i64().is_some_and(|more| more <= 0), "{name} is {width} too wide");
        phone.picture(&format!("phone-{name}"), Theme::Light);
    }
    let target = format!("/page/inbox#{}", item.as_str().unwrap_or_default());
    open.open(&target);
    open.browser.script("document.querySelector('button[value=once]').click()");
    assert_eq!(program.ended().stdout, "deleted\n");
    assert!(testkit::process::wait_until(TIMEOUT, || !open.browser.address().is_empty()));
}

#[test]
fn the_pages_of_a_gateway_are_clean_in_both_themes() {
    if !has_browser() {
        return;
    }
    let broken = json!({ "name": "broken", "command": "/nowhere/at-all", "args": [] });
    let gateway = HttpGateway::with_settings(&json!({ "users": {}, "servers": [broken] }));
    let token = personal_token(&gateway, "anna", &["admin"]);
    personal_token(&gateway, "ben", &["sales", "support"]);
    let pages = [
        ("first-overview", "/page/", 200),
        ("users", "/page/users", 200),
        ("failed-server", "/page/servers", 200),
        ("not-found", "/page/runs/nothing", 404),
    ];
    for (width, prefix) in [(1280, ""), (500, "phone-")] {
        let open = OpenPage::of_gateway(gateway.address, width, 900);
        for theme in Theme::ALL {
            open.browser.set_theme(theme);
            open.open("/page/");
            open.check_answer(&format!("sign-in, {}", theme.name()), 401);
            open.picture(&format!("{prefix}sign-in"), theme);
        }
        open.browser.script(&format!(
            "document.getElementById('token').value = '{token}'; document.querySelector('form').submit()"
        ));
        assert!(open.browser.becomes("document.body.dataset.kind === 'signed-in'"));
        for theme in Theme::ALL {
            open.browser.set_theme(theme);
            for (name, target, status) in pages {
                open.open(target);
                let more =
                    open.browser.script("return document.documentElement.scrollWidth - innerWidth");
                assert!(more.as_i64().is_some_and(|more| more <= 0), "{name} is {more} too wide");
                open.check_answer(&format!("{name}, {}", theme.name()), status);
                open.picture(&format!("{prefix}{name}"), theme);
            }
        }
    }
}
