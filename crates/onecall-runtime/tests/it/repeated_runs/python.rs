//! Python programs, on the embedded interpreter and on the system's.

use onecall_core::{EngineChoice, EngineName, InPlaceReason, Language, Workspace, WorkspaceAccess};
use onecall_engine::EngineSettings;
use testkit::bins;

use super::host::Repeats::{self, Everything, UntilCut};
use super::host::{Journalist, Run, observations};

const ENGINES: [EngineName; 2] = [EngineName::Python, EngineName::CPython];

fn journalists() -> [Journalist; 2] {
    ENGINES.map(|engine| Journalist::new(Language::Python, Some(EngineChoice::Only(engine))))
}

/// Runs a program on both interpreters, and continues it after each of its events.
async fn check(code: &str, repeats: Repeats) {
    for journalist in journalists() {
        journalist.check_every_cut(code, repeats).await;
    }
}

/// What a run printed, and how it failed.
fn text(run: &Run) -> String {
    match &run.failure {
        None => run.stdout.clone(),
        Some(failure) => format!("{}{failure}", run.stdout),
    }
}

#[tokio::test]
async fn one_call_after_the_other() {
    check(
        r#"
for number in range(4):
    print(await echo(value=number))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn calls_in_parallel() {
    check(
        r#"
import asyncio
print(await asyncio.gather(echo(value=1, after=[3]), echo(value=2), echo(value=3, after=[2])))
print(await echo(value=4))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn tasks_that_end_in_another_order() {
    check(
        r#"
import asyncio
async def one(value, after):
    got = await echo(value=value, after=after)
    order.append(got)
    return await echo(value=[got, order])
order = []
tasks = [asyncio.create_task(one(*it)) for it in [("a", ["b"]), ("b", ["c"]), ("c", [])]]
print([(await task)[0] for task in tasks])
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn results_as_they_are_completed() {
    check(
        r#"
import asyncio
order = []
calls = [echo(value="a", after=["c"]), echo(value="b", after=["a"]), echo(value="c")]
for next_one in asyncio.as_completed(calls):
    value = await next_one
    order.append(value)
    assert await echo(value=[value, order]) == [value, order]
print(sorted(order))
done, pending = await asyncio.wait([asyncio.create_task(echo(value=n)) for n in range(5)])
print(sorted([(await echo(value=[task.result(), "again"]))[0] for task in done]), pending)
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn timeouts_that_fire_and_that_do_not() {
    check(
        r#"
import asyncio
print(await asyncio.wait_for(echo(value=1), 30))
try:
    await asyncio.wait_for(hang(value=2), 0.02)
except asyncio.TimeoutError:
    print("timeout", await echo(value=3))
async with asyncio.timeout(30):
    print(await echo(value=4))
await asyncio.sleep(0.01)
print(await echo(value=5))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn queues_and_semaphores() {
    check(
        r#"
import asyncio
queue, limit = asyncio.Queue(), asyncio.Semaphore(2)
async def produce(name):
    async with limit:
        queue.put_nowait(await echo(value=name))
async def consume(name):
    while (item := await queue.get()) is not None:
        print(name, await echo(value=[name, item]))
workers = [asyncio.create_task(consume(n)) for n in range(2)]
await asyncio.gather(*(produce(n) for n in "abcd"))
for _ in workers:
    queue.put_nowait(None)
await asyncio.gather(*workers)
"#,
        // Which worker gets which item depends on how many answers arrive at once.
        UntilCut,
    )
    .await;
}

#[tokio::test]
async fn coroutines_that_are_awaited_in_another_order() {
    check(
        r#"
first, second, third = echo(value=1), echo(value=2), echo(value=3)
print(await third, await first, await second)
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn groups_of_tasks_and_cancellation() {
    check(
        r#"
import asyncio
async def patient(name):
    try:
        await hang(value=name)
    finally:
        left.append(name)
        await echo(value=f"{name} left")
        await echo(value=left)
left = []
try:
    async with asyncio.TaskGroup() as group:
        for name in "xyz":
            group.create_task(patient(name))
        await echo(value="begun")
        raise KeyError("stop")
except* KeyError as error:
    print(error.exceptions, sorted(left))
task = asyncio.create_task(patient("w"))
await asyncio.sleep(0)
task.cancel()
print(await asyncio.gather(task, return_exceptions=True))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn clocks() {
    check(
        r#"
import asyncio, datetime, time, os, email.utils, logging
loop = asyncio.get_running_loop()
for _ in range(2):
    await echo(value=[
        time.time(), time.time_ns(), time.monotonic(), time.perf_counter_ns(), time.process_time(),
        time.thread_time(), time.ctime(), time.strftime("%c"), list(time.localtime()),
        list(time.gmtime()), time.asctime(), time.clock_gettime(time.CLOCK_BOOTTIME), loop.time(),
    ])
    await echo(value=[
        str(datetime.datetime.now()), str(datetime.datetime.now(datetime.timezone.utc)),
        str(datetime.datetime.today()), str(datetime.date.today()), list(os.times()), os.getpid(),
        email.utils.formatdate(), logging.makeLogRecord({}).created,
    ])
class Own(datetime.datetime):
    pass
assert type(Own.now()) is Own and Own.today() <= Own.now()
assert abs(datetime.datetime.now().timestamp() - time.time()) < 5
before = time.monotonic()
await echo(value="between")
assert before <= time.monotonic() and loop.time() <= loop.time()
print(datetime.datetime.now())
"#,
        UntilCut,
    )
    .await;
}

#[tokio::test]
async fn random_numbers() {
    check(
        r#"
import os, random, secrets, tempfile, uuid
print(await echo(value=[
    random.random(), random.Random().random(), random.SystemRandom().random(), random.gauss(0, 1),
    secrets.token_hex(), secrets.choice(range(10**9)), str(uuid.uuid4()), os.urandom(3).hex(),
    os.getrandom(3).hex(), next(tempfile._get_candidate_names()),
]))
print(await echo(value=[random.sample(range(1000), 5), secrets.randbits(64)]))
random.seed(5)
print(await echo(value=random.random()))
"#,
        Everything,
    )
    .await;
    let code = "import uuid\nawait echo(value=str(uuid.uuid1()))\nprint(uuid.uuid1().node)";
    check(code, Everything).await;
}

#[tokio::test]
async fn random_numbers_depend_on_the_seed_alone() {
    let code =
        "import random, uuid\nprint(random.random(), uuid.uuid4(), hash('a'), await echo(value=1))";
    for journalist in journalists() {
        let runs = [journalist.run(code).await, journalist.run(code).await];
        assert_eq!(runs[0].stdout, runs[1].stdout);
    }
}

/// Clocks and random numbers are replaced when a program imports its first module.
#[tokio::test]
async fn modules_that_are_imported_late() {
    for import in ["import random, time", "random, time = map(__import__, ('random', 'time'))"] {
        let code = format!(
            "await echo(value=1)\ndef late():\n    {import}\n    \
             return random.random(), time.time_ns()\nprint(await echo(value=late()))\nprint(late())"
        );
        check(&code, UntilCut).await;
    }
    let code = "try:\n    import nothing\nexcept ImportError as error:\n    print(error)\n\
                print(await echo(value=1), __import__.__name__)\nimport nothing";
    for journalist in journalists() {
        let (run, plain) = (journalist.run(code).await, journalist.run_without_journal(code).await);
        assert_eq!((&run.stdout, &run.failure), (&plain.stdout, &plain.failure));
    }
}

#[tokio::test]
async fn sets_of_texts() {
    check(
        r#"
for name in {"alpha", "beta", "gamma", "delta", "epsilon"}:
    print(await echo(value=name))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn blocking_calls_and_questions() {
    check(
        r#"
print(tools.echo(value=1), tools.search("echo"))
def inner():
    return tools.echo(value=2)
print(inner(), await tools.aio.echo(value=3), await echo(4))
"#,
        Everything,
    )
    .await;
    check("print(tools.echo(value=1))\nprint(tools.echo(value=2))", Everything).await;
}

#[tokio::test]
async fn a_loop_of_the_program_itself() {
    check(
        r#"
import asyncio
async def main(value):
    return await asyncio.gather(echo(value=value, after=[value + 1]), echo(value=value + 1))
print(asyncio.run(main(1)))
print(asyncio.run(main(5)))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn errors() {
    check(
        r#"
try:
    await fail(value="no")
except ToolError as error:
    print(error, await echo(value=str(error)))
try:
    unknown_name
except NameError as error:
    print(error)
await fail(value="the end")
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn arguments_that_are_not_plain() {
    check(
        r#"
import dataclasses
@dataclasses.dataclass
class Point:
    x: int
print(await echo(value=Point(1)), await echo(value=2))
"#,
        Everything,
    )
    .await;
}

#[tokio::test]
async fn places_of_calls() {
    let code = r#"
import asyncio
async def inner(value):
    await asyncio.gather(echo(value=value), echo(value=value))
await echo(value=0)
await asyncio.gather(inner(1), inner(2))
tools.echo(value=3)
"#;
    for journalist in journalists() {
        let run = journalist.run(code).await;
        let sites = run.sites();
        let sites = sites.iter().map(|site| (site.task.as_str(), site.line, site.column));
        assert_eq!(
            sites.collect::<Vec<_>>(),
            [
                ("0", 5, 7),
                ("0.1.1", 4, 26),
                ("0.1.2", 4, 45),
                ("0.2.1", 4, 26),
                ("0.2.2", 4, 45),
                ("0", 7, 1),
            ],
            "{}",
            text(&run)
        );
    }
}

#[tokio::test]
async fn a_program_that_does_something_else_is_stopped() {
    let recorded = "import time\nawait echo(value=1)\ntime.time()\nawait echo(value=2)";
    let cases = [
        (
            "import time\nawait echo(value=1)\n\nawait echo(value=2)",
            "in line 4 the program calls 'echo', and in the recorded run it read a clock at this point",
        ),
        (
            "import time\ntime.time()\nawait echo(value=1)",
            "in line 2 the program reads the clock (time.time), and in the recorded run it looked \
             up a name at this point",
        ),
        (
            "import time\nawait echo(value=1)",
            "the program ends, and in the recorded run it read a clock at this point",
        ),
        (
            "import time\nawait echo(value=1)\nawait echo(value=2)\ntime.time()",
            "in line 3 the program calls 'echo', and in the recorded run it read a clock at this point",
        ),
        (
            "import os, time\nawait echo(value=1)\nos.getpid()",
            "in line 3 the program reads os.getpid, and in the recorded run it read a clock at this \
             point",
        ),
        (
            "import time\nawait fail(value=1)",
            "in line 2 the program uses the name 'fail', and in the recorded run it looked up a name \
             ('echo') at this point",
        ),
    ];
    for journalist in journalists() {
        let events = journalist.run(recorded).await.events;
        for (other, difference) in cases {
            let run = journalist.resume(other, &events).await;
            assert_eq!(run.diverged.as_deref(), Some(difference), "{other}");
            assert!(text(&run).contains(difference), "{run:?}");
        }
    }
}

#[tokio::test]
async fn another_interpreter_does_not_continue_a_run() {
    let [python, cpython] = journalists();
    let code = "print(await echo(value=1))";
    let run = cpython.resume(code, &python.run(code).await.events).await;
    let difference = run.diverged.unwrap();
    assert!(difference.starts_with("the run began on 'rustpython "), "{difference}");
}

#[tokio::test]
async fn observations_that_cannot_be_read_stop_the_run() {
    let code = "import time\ntime.time()\nawait echo(value=1)\nprint(time.time())";
    for journalist in journalists() {
        let first = journalist.run(code).await;
        let whole = observations(&first.events);
        let mut garbage = vec![b"\xff".to_vec(), vec![0; 100], b"garbage".to_vec()];
        garbage.extend((1..whole.len()).map(|end| whole[..end].to_vec()));
        garbage.extend((0..whole.len()).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] = !bytes[at];
            bytes
        }));
        for bytes in garbage {
            let run = journalist.resume_with(code, &first.events, &bytes).await;
            let is_stopped = run.diverged.is_some() && run.failure.is_some();
            assert!(is_stopped || run.failure.is_none(), "{bytes:?}: {run:?}");
        }
    }
}

#[tokio::test]
async fn threads_cannot_be_repeated() {
    let start = "t.start()\nt.join()\nprint(await echo(value=1))";
    let cases = [
        format!(
            "import threading\nt = threading.Thread(target=lambda: tools.echo(value=2))\n{start}"
        ),
        format!("import threading, time\nt = threading.Thread(target=time.time)\n{start}"),
        "import asyncio\nawait asyncio.to_thread(print)\nprint(await echo(value=1))".to_owned(),
    ];
    for journalist in journalists() {
        for code in &cases {
            let run = journalist.run(code).await;
            assert_eq!(run.in_place, [InPlaceReason::Threads], "{code}: {}", text(&run));
            assert_eq!(text(&run).trim(), "1");
        }
    }
    check(
        "import threading\nt = threading.Thread(target=print)\nt.start()\nt.join()\nawait echo(1)",
        Everything,
    )
    .await;
}

#[tokio::test]
async fn a_clock_that_is_read_too_often_cannot_be_repeated() {
    let code = "import time\nfor _ in range(100_001):\n    time.time()\nprint(await echo(value=1))";
    for journalist in journalists() {
        let run = journalist.run(code).await;
        assert_eq!(
            (run.in_place.as_slice(), text(&run).as_str()),
            (&[InPlaceReason::Clock][..], "1\n")
        );
    }
}

#[tokio::test]
async fn a_program_that_wrote_to_the_workspace_cannot_be_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    std::fs::write(path.join("present"), "text").unwrap();
    let reads = "print(open('present').read(), await echo(value=1))";
    let writes = [
        "open('new', 'w').write('x')",
        "open('new', 'a').close()",
        "import os\nos.mkdir('folder')\nos.rmdir('folder')",
        "import os\nos.rename('new', 'newer')",
        "import pathlib\npathlib.Path('newer').unlink()",
    ];
    for engine in ENGINES {
        let mut settings = EngineSettings::new(bins::find("onecall"));
        let access = WorkspaceAccess::ReadWrite { max_bytes: 1 << 20 };
        settings.workspace = Some(Workspace { path: path.clone(), access });
        let engine = Some(EngineChoice::Only(engine));
        let journalist = Journalist::with_settings(settings, Language::Python, engine);
        journalist.check_every_cut(reads, Everything).await;
        for code in writes {
            let run = journalist.run(&format!("{code}\nprint(await echo(value=1))")).await;
            assert_eq!(run.in_place, [InPlaceReason::Workspace], "{code}: {}", text(&run));
            assert_eq!(text(&run), "1\n", "{code}");
        }
    }
}

#[tokio::test]
async fn timers_stand_still_while_only_a_person_is_awaited() {
    let code = r#"
import asyncio, time
begun, loop = time.monotonic(), asyncio.get_running_loop()
loop_begun = loop.time()
print(await asyncio.wait_for(ask_person(value="yes", delay=900), 0.6))
slept = asyncio.create_task(asyncio.sleep(0.6, "slept"))
await asyncio.sleep(0)
print(tools.ask_person(value="yes", delay=900), slept.done())
print(time.monotonic() - begun >= 1.8, loop.time() - loop_begun < 1, await slept)
try:
    await asyncio.wait_for(asyncio.gather(ask_person(delay=300), hang(value=1)), 0.1)
except asyncio.TimeoutError:
    print("timeout")
"#;
    for journalist in journalists() {
        for run in [journalist.run(code).await, journalist.run_without_journal(code).await] {
            assert_eq!(text(&run), "yes\nyes False\nTrue True slept\ntimeout\n");
        }
    }
}

#[tokio::test]
async fn a_program_of_a_session_reports_the_places_of_its_calls_only() {
    let code = "import time\nprint(await echo(value=time.time() > 0))";
    for journalist in journalists() {
        let runs = journalist.run_in_session(&[(code, true), (code, false), (code, true)]).await;
        for (run, has_journal) in runs.iter().zip([true, false, true]) {
            assert_eq!(text(run), "True\n");
            let sites = run.sites();
            let lines: Vec<_> = sites.iter().map(|site| (site.line, site.column)).collect();
            assert_eq!(lines, if has_journal { vec![(2, 13)] } else { Vec::new() });
            assert_eq!(observations(&run.events), b"");
        }
    }
}
