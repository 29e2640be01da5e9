//! What changes while a page is open: new runs, questions, and answers of other people.

use serde_json::json;
use testkit::process::wait_until;

use super::{OpenPage, has_browser};
use crate::page::{Background, PageProcess, WAITING, recorded_home, run, run_as};
use crate::support::http_gateway::HttpGateway;
use crate::support::{Home, TIMEOUT, finish};

#[test]
fn two_people_see_a_question_and_its_answer_at_once() {
    if !has_browser() {
        return;
    }
    let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
    let home = recorded_home(&json!({ "approvals": approvals }));
    let people = [0, 1].map(|_| OpenPage::new(PageProcess::start(&home), 1200, 800));
    let [one, other] = &people;
    for person in &people {
        person.open("/page/inbox");
        assert!(person.browser.becomes("document.getElementById('nothing-waits')"));
    }
    let code = "for name in ['a', 'b']:\n    print(await mcp__files__delete(path=name))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    // Both learn of it without loading the page again.
    for person in &people {
        assert!(person.browser.becomes("document.querySelector('[data-question]')"));
        assert!(person.browser.becomes("document.title.startsWith('(1) ')"));
        assert!(person.browser.becomes("!document.getElementById('inbox-count').hidden"));
    }
    let first =
        one.browser.script("return document.querySelector('[data-question]').dataset.question");
    // What one person types stays while other things change.
    other.browser.script("document.querySelector('textarea').value = '{\"path\": \"typed\"}'");
    one.browser.type_keys("j");
    assert!(one.browser.becomes("document.activeElement.dataset.question"));
    one.browser.type_keys("a");
    let another = format!("document.querySelector('[data-question]')?.dataset.question > {first}");
    for person in &people {
        assert!(person.browser.becomes(&another), "the second question does not appear");
    }
    let answered = "document.getElementById('answered').textContent.includes('approved')";
    assert!(other.browser.becomes(answered), "the answer of the first person is not shown");
    // The second one is denied with the keyboard, by the other person.
    go_to_a_question(other);
    other.browser.type_keys("d");
    assert!(other.browser.becomes("document.activeElement.name === 'reason'"));
    other.browser.type_keys("keep it\u{e007}");
    let ended = program.ended();
    assert_eq!(ended.stdout, "deleted\n", "{ended:?}");
    assert!(ended.stderr.contains("keep it"), "{ended:?}");
    for person in &people {
        assert!(person.browser.becomes("document.getElementById('nothing-waits')"));
        person.check("the inbox at the end");
    }
}

/// Gives the focus to a question with the keyboard, whose keys do nothing for a moment after an answer of someone else.
fn go_to_a_question(person: &OpenPage) {
    assert!(wait_until(TIMEOUT, || {
        person.browser.type_keys("j");
        let has_focus = "return Boolean(document.activeElement.dataset.question)";
        person.browser.script(has_focus) == json!(true)
    }));
}

/// Answers the question that waits, from the command line.
fn answer_elsewhere(home: &Home, verdict: &[&str]) {
    let listed = finish(home.onecall_with_config(&["approvals", "list", "--json"]));
    let open: serde_json::Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let item = open[0]["id"].as_str().expect("a question").to_owned();
    let answered = finish(home.onecall_with_config(&[&["approvals"], verdict, &[&item]].concat()));
    assert_eq!(answered.code, Some(0), "{answered:?}");
}

#[test]
fn keys_that_were_meant_for_one_question_never_answer_another() {
    if !has_browser() {
        return;
    }
    let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
    let home = recorded_home(&json!({ "approvals": approvals }));
    let person = OpenPage::new(PageProcess::start(&home), 1200, 800);
    person.open("/page/inbox");
    // A call that is denied leaves the others waiting.
    let code = "import asyncio\n\
                calls = [mcp__files__delete(path=name) for name in ['a', 'b', 'c']]\n\
                await asyncio.gather(*calls, return_exceptions=True)";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    let count =
        |count: usize| format!("document.querySelectorAll('[data-question]').length === {count}");
    assert!(person.browser.becomes(&count(3)), "the questions do not appear");
    // The first one has the focus, and is answered by someone else: no other one gets the focus.
    person.browser.type_keys("j");
    answer_elsewhere(&home, &["approve"]);
    assert!(person.browser.becomes(&count(2)), "the answer is not shown");
    let focus = "document.activeElement.closest('[data-question]')";
    assert!(person.browser.becomes(&format!("{focus} === null")));
    // Keys do nothing for a moment, whatever they are.
    person.browser.type_keys("ja");
    assert_eq!(person.browser.script(&format!("return {focus} === null")), json!(true));
    assert_eq!(person.browser.script(&format!("return {}", count(2))), json!(true));

    // A card that something was typed into stays, and says who has answered it.
    go_to_a_question(&person);
    person.browser.type_keys("d");
    person.browser.type_keys("not a good idea");
    answer_elsewhere(&home, &["deny"]);
    assert!(person.browser.becomes(&count(1)), "the second answer is not shown");
    let kept = "document.querySelector('[data-kept]')";
    assert!(person.browser.becomes(&format!("{kept}.textContent.includes('denied')")));
    person.browser.type_keys(" at all");
    let typed = format!("return {kept}.querySelector('[name=reason]').value");
    assert_eq!(person.browser.script(&typed), json!("not a good idea at all"));
    // The key that would deny it does nothing to it, nor to the question that is left.
    person.browser.type_keys("\u{e007}");
    assert_eq!(person.browser.script(&format!("return {}", count(1))), json!(true));
    person.check("the inbox with a card that was answered");
    answer_elsewhere(&home, &["approve"]);
    program.ended();
    assert!(person.browser.becomes("document.getElementById('nothing-waits')"));
    assert_eq!(person.browser.script(&typed), json!("not a good idea at all"));
}

#[test]
fn the_state_of_servers_changes_while_their_page_is_open() {
    if !has_browser() {
        return;
    }
    let servers = ["one", "two"].map(|name| json!({ "name": name, "command": "/nowhere/server" }));
    let home = Home::with_config(&json!({ "servers": servers }));
    let open = OpenPage::new(PageProcess::start(&home), 1200, 800);
    open.open("/page/servers");
    open.browser.script("document.querySelector('#server-one button').focus()");
    // The server is started by another tab.
    let start = "fetch('/page/servers/one/start', { method: 'POST', body: new URLSearchParams(
        { check: document.querySelector('[name=check]').value }) })";
    open.browser.script(start);
    let failed = "document.querySelector('#server-one .tag.bad')";
    assert!(open.browser.becomes(failed), "the failure is not shown");
    // The same button of another server is another button.
    let focused = "document.activeElement.closest('#server-two')";
    assert_eq!(open.browser.script(&format!("return {focused}")), json!(null));
    open.check("servers that have changed");
}

/// Counts the notifications that the browser shows, and makes the page believe that it is in the background.
const WATCH_NOTIFICATIONS: &str = "
    window.notifications = [];
    window.Notification = new Proxy(Notification, { construct(target, [title, options]) {
      const notification = new target(title, options);
      notification.addEventListener('show', () => window.notifications.push([title, options.body]));
      return notification;
    } });
    Object.defineProperty(document, 'hidden', { value: true });";

#[test]
fn a_question_is_notified_once_and_counted_in_the_title() {
    if !has_browser() {
        return;
    }
    let approvals = json!({ "ask": ["mcp__files__delete"], "wait_seconds": 60 });
    let home = recorded_home(&json!({ "approvals": approvals }));
    let person = OpenPage::new(PageProcess::start(&home), 1200, 800);
    person.browser.allow_notifications(&format!("http://{}", person.address));
    // Any page notifies, not only the inbox.
    person.open("/page/runs");
    assert_eq!(person.browser.script("return Notification.permission"), "granted");
    person.browser.script(WATCH_NOTIFICATIONS);
    let code = "print(await mcp__files__delete(path='a'))";
    let program = Background::start(home.onecall_with_config(&["run", "-e", code]));
    assert!(person.browser.becomes("document.title.startsWith('(1) ')"));
    assert!(person.browser.becomes("window.notifications.length > 0"), "nothing was shown");
    let shown = person.browser.script("return window.notifications");
    assert_eq!(shown, json!([["onecall", "A call waits for an approval."]]));
    person.check("a page with a question");
    person.open("/page/inbox");
    person.browser.script("document.querySelector('button[value=once]').click()");
    assert_eq!(program.ended().stdout, "deleted\n");
    assert!(person.browser.becomes("!document.title.startsWith('(')"));
}

/// Hides the page or shows it, as another tab in front of it does.
fn set_hidden(page: &OpenPage, is_hidden: bool) {
    page.browser.script(&format!(
        "Object.defineProperty(document, 'hidden', {{ value: {is_hidden}, configurable: true }});
         document.dispatchEvent(new Event('visibilitychange'));"
    ));
}

#[test]
fn a_hidden_page_needs_no_connection_and_catches_up() {
    if !has_browser() {
        return;
    }
    let home = recorded_home(&json!({}));
    let open = OpenPage::new(PageProcess::start(&home), 1200, 800);
    open.open("/page/runs");
    let count = "window.streamsClosed = 0; window.streamsOpened = 0;
        const close = EventSource.prototype.close;
        EventSource.prototype.close = function () { window.streamsClosed += 1; return close.call(this); };
        window.EventSource = new Proxy(EventSource, { construct(target, given) {
          window.streamsOpened += 1; return new target(...given); } });";
    open.browser.script(count);
    set_hidden(&open, true);
    assert!(open.browser.becomes("window.streamsClosed === 1 && window.streamsOpened === 0"));
    let id = run(&home, "print(1)");
    set_hidden(&open, false);
    assert!(open.browser.becomes("window.streamsOpened === 1"));
    let row = format!("document.querySelector('a[href=\"/page/runs/{id}\"]')");
    assert!(open.browser.becomes(&row), "the run does not appear");

    // A link keeps the focus when the list around it is replaced.
    open.browser.script(&format!("{row}.focus()"));
    let newer = run(&home, "print(2)");
    let row = format!("document.querySelector('a[href=\"/page/runs/{newer}\"]')");
    assert!(open.browser.becomes(&row), "the second run does not appear");
    let focused = format!("document.activeElement.getAttribute('href') === '/page/runs/{id}'");
    assert!(open.browser.becomes(&focused), "the focus is lost");
    open.check("a page that was hidden");
}

#[test]
fn runs_appear_in_the_list_and_time_lines_can_be_zoomed() {
    if !has_browser() {
        return;
    }
    let home = recorded_home(&json!({}));
    let open = OpenPage::new(PageProcess::start(&home), 1200, 800);
    open.open("/page/runs");
    assert!(open.browser.becomes("document.body.textContent.includes('Nothing ran yet')"));
    let id = run(&home, "for n in range(5):\n    print(await mcp__files__read(path=str(n)))");
    let row = format!("document.querySelector('a[href=\"/page/runs/{id}\"]')");
    assert!(open.browser.becomes(&row), "the run does not appear");
    open.open(&format!("/page/runs/{id}"));
    // A drag that began elsewhere may end on the picture.
    let stray = "document.querySelector('svg.timeline').dispatchEvent(new PointerEvent('pointerup',
        { bubbles: true, pointerId: 1, clientX: 5, clientY: 5 }));";
    open.browser.script(stray);
    open.check("a drag that began elsewhere");
    let drag = "const svg = document.querySelector('svg.timeline'), box = svg.getBoundingClientRect();
        const send = (kind, part) => svg.dispatchEvent(new PointerEvent(kind, { bubbles: true, pointerId: 1,
          clientX: box.left + box.width * part, clientY: box.top + 3 }));
        svg.setPointerCapture = () => {};
        send('pointerdown', 0.4); send('pointermove', 0.5); send('pointerup', 0.6);";
    open.browser.script(drag);
    assert!(open.browser.becomes("location.search.includes('from=')"));
    assert!(open.browser.becomes("document.querySelectorAll('table.calls tbody tr').length < 5"));
    open.check("a part of a time line");
}

#[test]
fn a_program_of_a_gateway_appears_when_it_begins_and_changes_when_it_ends() {
    if !has_browser() {
        return;
    }
    let home = Home::new();
    home.write("data/orders.csv", "region,amount\n");
    let workspace = json!({ "path": home.text_path("data"), "mode": "read-only" });
    let settings = json!({ "workspace": workspace, "records": "full" });
    let token = "7b1c9f0e5d3a8642";
    let (gateway, _) = HttpGateway::serve("127.0.0.1:0", &["--token", token], &settings, |_| {});
    let open = OpenPage::of_gateway(gateway.address, 1200, 800);
    open.open("/page/");
    open.browser.script(&format!(
        "document.getElementById('token').value = '{token}'; document.querySelector('form').submit()"
    ));
    assert!(open.browser.becomes("document.body.dataset.kind === 'signed-in'"));
    // The page without a session is a form, with status 401.
    open.check_answer("the sign-in", 401);
    open.open("/page/runs");
    assert!(open.browser.becomes("document.body.textContent.includes('Nothing ran yet')"));
    std::thread::scope(|scope| {
        let program = scope.spawn(|| run_as(&gateway, token, WAITING));
        let appears = open.browser.becomes("document.querySelector('#runs .tag.wait')");
        open.browser.script("document.querySelector('#runs a.id').click()");
        let is_shown = open
            .browser
            .becomes("document.querySelector('#run-state .tag.wait')?.textContent === 'running'");
        home.write("data/go", "");
        program.join().expect("the program ends");
        assert!(appears && is_shown, "{appears} {is_shown}");
    });
    // The page of the run becomes that of its record.
    assert!(open.browser.becomes("document.getElementById('output-title')"));
    assert!(open.browser.becomes("document.body.textContent.includes('went')"));
    // The record may have been asked for before it was stored.
    open.check_answer("a run that has ended", 404);
}
