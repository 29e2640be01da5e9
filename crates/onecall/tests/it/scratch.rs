//! The folder in memory that Python programs have at `/tmp` if their text names it: what works
//! there, how large it is, whose it is, and when there is none.

#![expect(clippy::print_stderr, reason = "a skipped check is to be seen")]

use serde_json::{Value, json};

use crate::support::container::TestContainer;
use crate::support::{Gateway, Home, failed, finish, fixture, has_system_python, printed};

/// The engines that Python programs run on here.
fn engines() -> Vec<&'static str> {
    if has_system_python() {
        vec!["python", "cpython"]
    } else {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        vec!["python"]
    }
}

fn in_session(gateway: &mut Gateway, session: &str, engine: &str, code: &str) -> Value {
    let arguments = json!({ "code": code, "session": session, "engine": engine });
    let answer = gateway.session.call_tool("execute_program", arguments);
    json!([answer.is_error, answer.text])
}

const STANDARD_LIBRARY: &str = r#"
import contextlib, csv, gzip, json, os, pathlib, shutil, sys, tempfile, zipfile

print(tempfile.gettempdir(), os.listdir('/tmp'))
with tempfile.TemporaryDirectory() as folder:
    deep = pathlib.Path(folder, 'a', 'b')
    deep.mkdir(parents=True)
    (deep / 'x.txt').write_text('äöü')
    print(deep.parent.parent == pathlib.Path(folder), (deep / 'x.txt').read_text(), (deep / 'x.txt').stat().st_size)
    print([path.name for path in sorted(pathlib.Path(folder).rglob('*'))])
    print([(len(names), files) for _, names, files in os.walk(folder)])
print(os.path.exists(folder))
with tempfile.NamedTemporaryFile('w+', suffix='.csv') as file:
    csv.writer(file).writerows([['a', 1], ['b', 2]])
    file.flush()
    print(list(csv.reader(open(file.name))), os.path.dirname(file.name))
print(os.path.exists(file.name))
with tempfile.NamedTemporaryFile('w', delete=False, dir='/tmp', prefix='kept-') as file:
    json.dump({'a': [1]}, file)
print(json.load(open(file.name)), oct(os.stat(file.name).st_mode))
shutil.copy(file.name, '/tmp/copy')
shutil.copy2(file.name, '/tmp/copy2')
shutil.copyfile(file.name, '/tmp/copy3')
print(os.stat('/tmp/copy2').st_mtime_ns == os.stat(file.name).st_mtime_ns, oct(os.stat('/tmp/copy').st_mode))
os.unlink(file.name)
descriptor, name = tempfile.mkstemp(text=True)
os.write(descriptor, b'raw')
os.close(descriptor)
print(open(name, 'rb').read(), os.path.getsize(name))
os.remove(name)
with tempfile.TemporaryFile() as file, tempfile.SpooledTemporaryFile(max_size=4) as spooled:
    file.write(b'123'); file.seek(1)
    spooled.write(b'more than four'); spooled.seek(0)
    print(file.read(), spooled.read())
open('/tmp/x', 'w').write('one\n')
open('/tmp/x', 'a').write('two\n')
with open('/tmp/x', 'r+') as file:
    file.write('ONE'); file.seek(0); print(file.read().split())
for attempt in (lambda: open('/tmp/x', 'x'), lambda: open('/tmp/nope'), lambda: open('/tmp/no/x', 'w'), lambda: os.rmdir('/tmp/x'), lambda: os.listdir('/tmp/x')):
    with contextlib.suppress(RuntimeError):
        try:
            attempt()
        except OSError as error:
            print(f'{type(error).__name__}: {error}')
with zipfile.ZipFile('/tmp/all.zip', 'w') as archive:
    archive.write('/tmp/x', 'x')
zipfile.ZipFile('/tmp/all.zip').extractall('/tmp/unpacked')
with gzip.open('/tmp/x.gz', 'wt') as file:
    file.write('zipped')
print(open('/tmp/unpacked/x').read().split(), gzip.open('/tmp/x.gz', 'rt').read())
os.replace('/tmp/x', '/tmp/y'); os.rename('/tmp/y', '/tmp/z'); pathlib.Path('/tmp/z').rename('/tmp/w')
folder = tempfile.mkdtemp()
os.makedirs(folder + '/q/r')
shutil.copytree(folder, '/tmp/tree'); shutil.rmtree(folder); shutil.move('/tmp/w', '/tmp/tree/w')
os.chmod('/tmp/tree/w', 0o640); os.truncate('/tmp/tree/w', 3); os.utime('/tmp/tree/w', (1, 2))
about = os.stat('/tmp/tree/w')
print(oct(about.st_mode), about.st_mtime, about.st_size, os.path.isdir('/tmp/tree/q/r'), os.access('/tmp', os.W_OK | os.X_OK))
print(sorted(os.listdir('/tmp')), sorted(entry.name for entry in os.scandir('/tmp') if entry.is_dir()))
print(sorted(path.name for path in pathlib.Path('/tmp').glob('copy*')), os.path.realpath('/tmp/../tmp/tree'))
"#;

#[test]
fn the_standard_library_works_there() {
    let mut gateway = Gateway::new();
    for engine in engines() {
        let seen = printed(&gateway.execute_on(engine, STANDARD_LIBRARY));
        insta::assert_snapshot!("the_standard_library", seen);
    }
}

#[test]
fn sqlite_keeps_a_database_there() {
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    let code = "
        import os, pathlib, sqlite3
        for path in '/tmp/a b?.db', pathlib.Path('/tmp/c.db'):
            with sqlite3.connect(path) as database:
                database.execute('create table t (x)')
                database.executemany('insert into t values (?)', [(n,) for n in range(1000)])
            database.close()
            print(sqlite3.connect(path).execute('select sum(x) from t').fetchone())
        print(sqlite3.connect(':memory:').execute('select 1').fetchone(), sorted(os.listdir('/tmp')))
        print(sqlite3.connect('file:/tmp/c.db?nolock=1', uri=True).execute('select max(x) from t').fetchone())
    ";
    let seen = "(499500,)\n(499500,)\n(1,) ['a b?.db', 'c.db']\n(999,)\n";
    assert_eq!(printed(&Gateway::new().execute(code)), seen);
}

#[test]
fn a_text_that_does_not_name_it_has_the_walls_of_before() {
    let mut gateway = Gateway::new();
    let code = "
        import os
        place = '/t' + 'mp'
        for attempt in (lambda: open(place + '/x', 'w'), lambda: os.listdir(place), lambda: os.stat(place)):
            try:
                print(attempt())
            except OSError as error:
                print(type(error).__name__)
    ";
    let answer = printed(&gateway.execute_on("python", code));
    assert_eq!(answer, "PermissionError\nFileNotFoundError\nFileNotFoundError\n");
    if has_system_python() {
        let answer = printed(&gateway.execute_on("cpython", code));
        assert_eq!(answer, "PermissionError\nFileNotFoundError\nFileNotFoundError\n");
    }
}

#[test]
fn programs_at_the_same_time_have_each_their_own() {
    for engine in engines() {
        let (mut gateway, received) = Gateway::with_message_log(&json!({}));
        gateway.execute_on(engine, "open('/tmp/before', 'w').write('x')");
        let code = "open('/tmp/mine', 'w').write('x')\nawait mcp__fixture__sleep(ms=600_000)";
        let arguments = json!({ "code": code, "engine": engine });
        let running = gateway.session.start_call("execute_program", arguments);
        let call = received.wait_for_call("sleep");
        for other in engines() {
            let seen = gateway.execute_on(other, "import os\nprint(os.listdir('/tmp'))");
            assert_eq!(printed(&seen), "[]\n", "{engine} beside {other}");
        }
        gateway.session.cancel(running);
        received.wait_for_cancel(&call);
        let seen = gateway.execute_on(engine, "import os\nprint(os.listdir('/tmp'))");
        assert_eq!(printed(&seen), "[]\n", "after it, on {engine}");
    }
}

#[test]
fn it_is_a_part_of_the_memory_of_its_program() {
    let mut gateway = Gateway::with_limits(&json!({ "memory_mb": 64, "timeout_seconds": 60 }));
    for engine in engines() {
        let code = "with open('/tmp/x', 'wb', buffering=0) as file:\n    while True:\n        file.write(bytes(65536))";
        let reason = failed(&gateway.execute_on(engine, code));
        let reason = reason.replace("device: '/tmp/x'", "device");
        let last: Vec<&str> = reason.lines().rev().take(2).collect();
        let note = "/tmp is a folder in memory; files and what is kept about them may take 16 MB, \
             a quarter of the program's memory limit (execution.memory_mb)";
        assert_eq!(last, [note, "OSError: [Errno 28] No space left on device"], "on {engine}");
        let code = "
            # /tmp is not used, and takes its part all the same.
            blocks = []
            try:
                while True:
                    blocks.append(bytes(1 << 20))
            except MemoryError:
                taken = len(blocks)
                blocks.clear()
                print(taken)
        ";
        // An allocator that gives memory back late, as on a busy machine, changes single results.
        let mut median = |code: &str| -> u32 {
            let taken = |_| printed(&gateway.execute_on(engine, code)).trim().parse().unwrap();
            let mut taken: Vec<u32> = (0..5).map(taken).collect();
            taken.sort_unstable();
            taken[2]
        };
        let (with, without) = (median(code), median(&code.replace("/tmp", "That")));
        assert!(with < without, "{with} of {without} MB on {engine}");
    }
}

#[test]
fn a_session_keeps_it() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])], "sessions": {},
    }));
    for engine in engines() {
        let begun = "import os\npath = '/tmp/kept'\nprint(open(path, 'w').write('four'))";
        assert_eq!(
            in_session(&mut gateway, engine, engine, begun),
            json!([false, "[Script executed successfully]\n4\n"])
        );
        assert_eq!(
            in_session(&mut gateway, engine, engine, "print(open(path).read())"),
            json!([false, "[Script executed successfully]\nfour\n"])
        );
        let other = "import os\nprint(os.listdir('/tmp'))";
        assert_eq!(printed(&gateway.execute_on(engine, other)), "[]\n");
    }
}

#[test]
fn a_session_may_come_to_it_later_where_the_gateway_opens_files() {
    let mut gateway = Gateway::with_config(&json!({
        "servers": [fixture("fixture", &[])], "sessions": {},
    }));
    let write = "print(open('/tmp/x', 'w').write('four'))";
    in_session(&mut gateway, "a", "python", "x = 1");
    assert_eq!(
        in_session(&mut gateway, "a", "python", write),
        json!([false, "[Script executed successfully]\n4\n"])
    );
    if !has_system_python() {
        eprintln!("skipped: no CPython from 3.11 on is on PATH");
        return;
    }
    in_session(&mut gateway, "b", "cpython", "x = 1");
    let answer = in_session(&mut gateway, "b", "cpython", write);
    insta::assert_snapshot!(answer[1].as_str().unwrap(), @r#"
    [Script execution failed]
    Traceback (most recent call last):
      File "<program 2>", line 1, in <module>
        print(open('/tmp/x', 'w').write('four'))
              ^^^^^^^^^^^^^^^^^^^
    PermissionError: [Errno 1] Operation not permitted: '/tmp/x'
    [this program has no scratch folder at /tmp: the session began with a program whose text names neither `tempfile` nor `/tmp`; reset it and begin with one that does]
    "#);
    let kept = in_session(&mut gateway, "b", "cpython", "print(x)");
    assert_eq!(kept, json!([false, "[Script executed successfully]\n1\n"]));
}

/// A workspace in the host's `/tmp`, as it is here.
#[test]
fn a_workspace_inside_of_it_stays_where_it_is() {
    let home = Home::with_config(&json!({
        "workspace": { "path": "data", "mode": "read-write" },
        "servers": [fixture("fixture", &[])],
    }));
    home.write("data/orders.csv", "EU,3\n");
    home.write("data/.envrc", "export A=1\n");
    home.write("secret.txt", "s3cret");
    if !home.path("data").starts_with("/tmp") {
        eprintln!("skipped: temporary folders of tests are not below /tmp");
        return;
    }
    let mut gateway = Gateway::in_home(home);
    for engine in engines() {
        let code = "
            import os, pathlib, tempfile
            data = pathlib.Path('DATA')
            print(os.getcwd() == str(data), open('orders.csv').read(), (data / 'orders.csv').read_text())
            (data / 'new.txt').write_text('kept')
            with tempfile.NamedTemporaryFile() as file:
                print(os.path.dirname(file.name), set(os.listdir('/tmp')) == {data.parts[2], os.path.basename(file.name)})
            (data / '..' / 'beside.txt').write_text('scratch')
            print(sorted(os.listdir(data.parent)), open('../beside.txt').read())
            for path in data / '..' / 'secret.txt', data.parent / 'secret.txt':
                print(path.exists())
            os.rename('new.txt', 'newer.txt')
            try:
                os.rename('newer.txt', '/tmp/moved')
            except OSError as error:
                print(error.errno)
            os.remove(data / 'newer.txt')
            print(sorted(os.listdir(data)))
        ";
        let code = code.replace("DATA", &gateway.home.text_path("data"));
        insta::assert_snapshot!("workspace_inside", printed(&gateway.execute_on(engine, &code)));
        assert!(!gateway.home.path("beside.txt").exists());
    }
    let code = format!("open('{}', 'a')", gateway.home.text_path("data/.envrc"));
    let reason = failed(&gateway.execute_on("python", &code));
    assert!(reason.contains("PermissionError"), "{reason}");
}

#[test]
fn a_workspace_inside_of_it_that_is_read_only_stays_so() {
    let home = Home::with_config(&json!({
        "workspace": { "path": "data" },
        "servers": [fixture("fixture", &[])],
    }));
    home.write("data/deep/orders.csv", "EU,3\n");
    if !home.path("data").starts_with("/tmp") {
        eprintln!("skipped: temporary folders of tests are not below /tmp");
        return;
    }
    let mut gateway = Gateway::in_home(home);
    for engine in engines() {
        let code = "
            import os, pathlib
            data = pathlib.Path('DATA')
            def attempt(what):
                try:
                    what()
                    print('done')
                except OSError as error:
                    print('refused')
            attempt(lambda: (data / 'new').write_text('x'))
            attempt(lambda: (data / 'deep/orders.csv').write_text('x'))
            attempt(lambda: os.remove(data / 'deep/orders.csv'))
            attempt(lambda: os.chmod(data / 'deep/orders.csv', 0o777))
            attempt(lambda: os.utime(data / 'deep', (0, 0)))
            attempt(lambda: os.truncate(data / 'deep/orders.csv', 0))
            attempt(lambda: os.rename(data / 'deep', '/tmp/deep'))
            attempt(lambda: os.rename(data, '/tmp/data'))
            attempt(lambda: os.rmdir(data / 'deep'))
            print((data / 'deep/orders.csv').read_text(), (data / '../new').write_text('scratch'))
        ";
        let code = code.replace("DATA", &gateway.home.text_path("data"));
        let seen = printed(&gateway.execute_on(engine, &code));
        assert_eq!(seen, format!("{}EU,3\n 7\n", "refused\n".repeat(9)), "on {engine}");
        let path = gateway.home.path("data/deep/orders.csv");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "EU,3\n");
    }
}

#[test]
fn it_works_in_a_container_with_our_profile() {
    for container in TestContainer::with_shipped_profile() {
        for engine in engines() {
            let home = Home::with_config(&json!({ "engine": engine }));
            home.write("program.py", "print(open('/tmp/x', 'w').write('four'))");
            let command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
            let ended = finish(container.wrap_command(&home, &command));
            assert_eq!(ended.stdout, "4\n", "{engine}, {}: {ended:?}", container.name);
        }
    }
}

#[test]
fn a_folder_below_it_that_was_not_made_is_the_programs_own_mistake() {
    let mut gateway = Gateway::new();
    for engine in engines() {
        let missing = failed(&gateway.execute_on(engine, "open('/tmp/no/x', 'w')"));
        let expected = "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/no/x'";
        assert_eq!(missing.lines().last(), Some(expected), "{engine}");
        // What a program expects to find there is elsewhere.
        let elsewhere = failed(&gateway.execute_on(engine, "open('/tmp/data.csv')"));
        let hint = "[Programs see only the files of a workspace";
        assert!(elsewhere.lines().last().unwrap_or_default().starts_with(hint), "{elsewhere}");
    }
}

#[test]
fn where_it_cannot_be_made_the_error_says_so() {
    let container = TestContainer::as_ordinary_user();
    let all = [
        ("python", "open('/tmp/x', 'w')"),
        ("python", "import tempfile\ntempfile.mkdtemp()"),
        ("cpython", "open('/tmp/x', 'w')"),
    ];
    for (engine, code) in all {
        if !engines().contains(&engine) {
            continue;
        }
        let config = json!({ "engine": engine, "sandbox_without": ["metadata"] });
        let home = Home::with_config(&config);
        home.write("program.py", code);
        let command = home.onecall_with_config(&["run", &home.text_path("program.py")]);
        let ended = finish(container.wrap_command(&home, &command));
        let expected = "this program has no scratch folder at /tmp: it needs namespaces: ";
        assert!(ended.stderr.contains(expected), "{engine}: {ended:?}");
        assert!(!ended.stdout.contains(expected));
    }
}

#[test]
fn without_a_sandbox_it_is_the_host_s() {
    let home = Home::with_config(&json!({ "sandbox": "off" }));
    home.write("found.txt", "of the host");
    let path = home.text_path("found.txt");
    assert_eq!(home.run(&format!("print(open('{path}').read())")).stdout, "of the host\n");
}
