//! TypeScript programs that are continued by another worker.

use onecall_core::{CallSite, InPlaceReason, Language};

use super::host::{Journalist, Repeats, Run};

fn journalist() -> Journalist {
    Journalist::new(Language::TypeScript, None)
}

async fn check(code: &str, repeats: Repeats) -> Run {
    journalist().check_every_cut(code, repeats).await
}

#[tokio::test]
async fn calls_one_after_the_other() {
    let code = r#"
for (const value of [1, 2, 3]) console.log(await echo(value));
console.log(await echo({ value: "last", delay: 5 }));
"#;
    let run = check(code, Repeats::Everything).await;
    assert_eq!(run.stdout, "1\n2\n3\nlast\n");
}

#[tokio::test]
async fn calls_at_once() {
    let code = r#"
const order: number[] = [];
const one = async (value: number, delay: number) => {
  const answer = await echo({ value, delay });
  order.push(answer);
  console.log("got", answer);
  return await echo({ value: answer * 10, delay: 1 });
};
console.log(await Promise.all([one(1, 40), one(2, 20), one(3, 0), one(4, 30), one(5, 10)]));
console.log(order.length, await Promise.allSettled([fail(), echo(7)]).then((all) => all.map((it) => it.status)));
"#;
    check(code, Repeats::UntilCut).await;
}

#[tokio::test]
async fn an_effect_that_depends_on_the_order_of_arrival() {
    // The call in the end would differ if the answers came in another order.
    let code = r#"
const order: number[] = [];
await Promise.all([3, 2, 1].map(async (value) => order.push(await echo({ value, delay: value * 15 }))));
console.log(await echo(order.join("-")));
"#;
    let run = check(code, Repeats::UntilCut).await;
    assert_eq!(run.stdout, "1-2-3\n");
}

#[tokio::test]
async fn a_race_between_calls_and_timers() {
    let code = r#"
const sleep = (delay: number, value: string) => new Promise((resolve) => setTimeout(resolve, delay, value));
console.log(await Promise.race([echo({ value: "call", delay: 60 }), sleep(5, "timer")]));
console.log(await Promise.race([echo({ value: "call", delay: 5 }), sleep(60, "timer")]));
console.log(await Promise.any([fail(), sleep(1, "timer")]));
await echo("end");
"#;
    let run = check(code, Repeats::UntilCut).await;
    assert_eq!(run.stdout, "timer\ncall\ntimer\n");
}

#[tokio::test]
async fn timers_among_themselves() {
    let code = r#"
const log = (text: string) => console.log(text);
setTimeout(log, 20, "third");
setTimeout(log, 1, "first");
const dropped = setTimeout(log, 2, "never");
setTimeout(() => { log("second"); setTimeout(log, 30, "fourth"); }, 5);
clearTimeout(dropped);
await echo("start");
queueMicrotask(() => log("microtask"));
await new Promise((resolve) => setTimeout(resolve, 60));
await echo("end");
"#;
    check(code, Repeats::UntilCut).await;
}

#[tokio::test]
async fn asynchronous_iteration() {
    let code = r#"
async function* pages() {
  for (let page = 1; page <= 3; page++) yield await echo({ value: page, delay: 3 });
}
for await (const page of pages()) console.log("page", page);
for await (const value of [echo(1), echo({ value: 2, delay: 10 }), 3]) console.log(value);
"#;
    let run = check(code, Repeats::Everything).await;
    assert_eq!(run.stdout, "page 1\npage 2\npage 3\n1\n2\n3\n");
}

#[tokio::test]
async fn clocks() {
    let code = r#"
const first = Date.now();
let last = 0;
const checkOrder = () => {
  const now = performance.now();
  if (now < last) throw new Error(`${now} after ${last}`);
  last = now;
};
checkOrder();
console.log(first, new Date().toISOString(), Date(), performance.now());
console.log(new Intl.DateTimeFormat("en", { timeStyle: "medium" }).format());
await echo({ value: first, delay: 3 });
checkOrder();
class Moment extends Date {}
const moment = new Moment();
console.log(moment.getTime() >= first, moment instanceof Date, moment.constructor === Moment);
console.log(new Date().constructor === Date, new Date(0).toISOString(), new Date(2026, 0).getTime());
console.log(Date.UTC(2026, 0), typeof Date(), Date.name, Date.length, [new Date(5)]);
console.time("took");
await echo({ value: performance.now(), delay: 3 });
checkOrder();
console.timeEnd("took");
console.log(performance.timeOrigin, performance.now() < 60_000);
const before = performance.now();
await new Promise((resolve) => setTimeout(resolve, 3));
console.log(performance.now() > before, Date.now() >= first);
await echo(Date.now());
checkOrder();
"#;
    let run = check(code, Repeats::UntilCut).await;
    let expected = "true true true\ntrue 1970-01-01T00:00:00.000Z 1767225600000\n\
                    1767225600000 string Date 7 [ 1970-01-01T00:00:00.005Z ]\n";
    assert!(run.stdout.contains(expected), "{}", run.stdout);
}

#[tokio::test]
async fn random_numbers() {
    let code = r#"
console.log(Math.random(), crypto.randomUUID());
await echo(Math.random());
console.log(crypto.getRandomValues(new Uint8Array(40)).join(), crypto.getRandomValues(new Uint32Array(2)));
await echo(crypto.randomUUID());
console.log([3, 1, 2].sort(() => Math.random() - 0.5));
"#;
    check(code, Repeats::Everything).await;
}

#[tokio::test]
async fn errors_and_questions() {
    let code = r#"
try {
  await fail();
} catch (error) {
  console.log(`${error}`, (error as Error).stack);
}
console.log(await tools.search("something"), Object.keys(tools));
const settled = await Promise.allSettled([tools.echo(1), fail(), tools.echo({ value: 2, delay: 3 })]);
console.log(settled.map((it) => it.status));
const both = [echo({ value: "early", delay: 1 }), tools.search("meanwhile")];
console.log(await Promise.all(both));
await fail();
"#;
    let run = check(code, Repeats::Everything).await;
    assert!(run.failure.is_some_and(|it| it.to_string().contains("'fail' failed: it does not")));
}

#[tokio::test]
async fn imported_tools_and_an_error_in_a_timer() {
    let code = r#"
import { echo, fail } from "./servers/test";
import * as other from "./servers/other";
console.log(await echo({ value: 1, delay: 2 }), await other.echo(2));
const { echo: later } = await import("./servers/third");
setTimeout(() => { throw new RangeError("too late"); }, 1);
console.log(await later(3), await fail().catch((error) => error.message));
await new Promise((resolve) => setTimeout(resolve, 1_000));
"#;
    let run = check(code, Repeats::UntilCut).await;
    assert!(run.failure.is_some_and(|it| it.to_string().contains("RangeError: too late")));
}

#[tokio::test]
async fn a_program_that_changes_its_world() {
    let code = r#"
Error.stackTraceLimit = 0;
Error.prepareStackTrace = () => Date.now();
Object.defineProperty(Error.prototype, "stack", { get: () => Date.now() });
const Old = Date;
await echo(1);
globalThis.Date = class extends Old { static now() { return 5; } };
Math.random = () => 0.5;
Map.prototype.has = () => false;
console.log(Date.now(), new Old(Old.now()) <= new Old(), Math.random(), await echo(2));
console.log(Reflect.construct(Old, [], Object) instanceof Object, new Old(7).getTime());
await echo(Old.now());
"#;
    let run = check(code, Repeats::UntilCut).await;
    assert_eq!((run.failure, run.stdout.as_str()), (None, "5 true 0.5 2\ntrue 7\n"));
}

#[tokio::test]
async fn a_site_is_the_place_in_the_source_of_the_author() {
    let code = "type Row = { value: number };\n\
                interface Unused { x: string }\n\
                const row: Row = { value: await echo(1) };\n\
                const twice = async (it: Row): Promise<Row> =>\n  \
                  ({ value: await echo(it.value) });\n\
                await Promise.all([twice(row), twice(row), tools.echo(2)]);\n";
    let run = journalist().run(code).await;
    let site = |line, column| CallSite { task: "0".to_owned(), line, column };
    assert_eq!(run.problems, Vec::<String>::new());
    assert_eq!(run.sites(), [site(3, 27), site(5, 24), site(5, 24), site(6, 50)]);
}

#[tokio::test]
async fn a_clock_that_is_read_too_often_is_not_recorded() {
    let read = |times: u32| {
        format!(
            "for (let i = 0; i < {times}; i++) Date.now();\nawait echo(1);\nconsole.log('end');"
        )
    };
    let often = journalist().run(&read(100_001)).await;
    assert_eq!(
        (often.in_place.as_slice(), often.stdout.as_str()),
        (&[InPlaceReason::Clock][..], "end\n")
    );
    let twice = format!("{}\n{}", read(99_000), read(99_000));
    let seldom = journalist().run(&twice).await;
    assert_eq!((seldom.in_place.as_slice(), seldom.stdout.as_str()), (&[][..], "end\nend\n"));
}

#[tokio::test]
async fn a_program_that_does_something_else_diverges() {
    let journalist = journalist();
    let recorded = "Date.now();\nawait echo(1);\nsetTimeout(() => {}, 1);\n\
                    await new Promise((resolve) => setTimeout(resolve, 5));\nawait echo(2);\n";
    let first = journalist.run(recorded).await;
    assert_eq!(first.failure, None);
    let cases = [
        (
            "performance.now();\nawait echo(1);",
            "in line 1 the program reads how long it has been running; when the run was recorded, \
             the program read the date and time at this point",
        ),
        (
            "await echo(1);",
            "after the call in line 1 the program waits for the answer to another call; when the run was \
             recorded, the program read the date and time at this point",
        ),
        (
            "Date.now();\nawait echo(1);\nDate.now();",
            "in line 3 the program reads the date and time; when the run was recorded, the program \
             set a timer at this point",
        ),
        (
            "Date.now();\nsetTimeout(() => {}, 9);",
            "in line 2 the program sets a timer; when the run was recorded, the program got the \
             answer to its call 1 at this point",
        ),
        (
            "Date.now();\nawait echo(1);",
            "after the call in line 2 the program ends; when the run was recorded, the program set \
             a timer at this point",
        ),
        (
            "Date.now();\nawait echo(1);\nsetTimeout(() => {}, 60_000);\nsetTimeout(() => {}, 60_000);",
            "after the call in line 2 the program waits for a later timer; when the run was \
             recorded, a timer of the program fired at this point",
        ),
        (
            "Object.defineProperty(Error.prototype, 'stack', { get: () => performance.now() });\n\
             performance.now();",
            "the program reads how long it has been running; when the run was recorded, the \
             program read the date and time at this point",
        ),
        (
            "syntax error",
            "the program ends; when the run was recorded, the program read the date and time at \
             this point",
        ),
    ];
    for (code, expected) in cases {
        let run = journalist.resume(code, &first.events).await;
        assert_eq!(run.diverged.as_deref(), Some(expected), "{code}");
        assert!(run.failure.is_some_and(|it| it.to_string().contains(expected)), "{code}");
    }
}

#[tokio::test]
async fn damaged_observations_are_a_divergence() {
    let journalist = journalist();
    let code = "Date.now();\nawait echo(1);\nDate.now();\nawait echo(2);\n";
    let first = journalist.run(code).await;
    for garbage in
        [&b"garbage"[..], b"S", b"S\x02\x01", b"S\x01\x02\xff", b"A\x01\x01", &[0xff; 99]]
    {
        let run = journalist.resume_with(code, &first.events, garbage).await;
        assert!(run.diverged.is_some_and(|it| it.contains("cannot be read")), "{garbage:?}");
    }
}

#[tokio::test]
async fn timers_stand_still_while_only_a_person_is_awaited() {
    let code = r#"
const timer = new Promise((resolve) => setTimeout(resolve, 100, "timer"));
const person = ask_person({ value: "person", delay: 400 });
console.log(await Promise.race([timer, person]));
console.log(await timer);
const other = new Promise((resolve) => setTimeout(resolve, 50, "timer"));
const both = [ask_person({ value: "person", delay: 400 }), echo({ value: "call", delay: 200 })];
console.log(await Promise.race([other, ...both]));
console.log(await Promise.all(both));
"#;
    for run in [journalist().run(code).await, journalist().run_without_journal(code).await] {
        let printed = (run.failure, run.stdout.as_str());
        assert_eq!(printed, (None, "person\ntimer\ntimer\n[ 'person', 'call' ]\n"));
    }
}

#[tokio::test]
async fn a_person_is_awaited_again() {
    let code = r#"
const timer = new Promise((resolve) => setTimeout(resolve, 150, "timer"));
console.log(await Promise.race([timer, ask_person({ value: "person", delay: 400 })]));
console.log(await timer);
"#;
    let run = check(code, Repeats::Everything).await;
    assert_eq!(run.stdout, "person\ntimer\n");
}
