//! The workspace as programs of the embedded Python use it: every file is opened by the
//! gateway, and the standard library does not notice.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::support::{Gateway, Home, failed, fixture, printed};

/// A gateway on the embedded Python, with the folder `data` of its home as workspace.
fn gateway() -> Gateway {
    let home = Home::with_config(&json!({
        "workspace": { "path": "data", "mode": "read-write", "max_bytes": 1_000_000_000 },
        "servers": [fixture("fixture", &[])],
        "engine": "python",
    }));
    home.write("data/orders.csv", "region,amount\nEU,3\nUS,4\n");
    home.write("secret.txt", "s3cret");
    Gateway::in_home(home)
}

/// What a program prints, with the path of the workspace as `DATA`.
fn seen(gateway: &mut Gateway, code: &str) -> String {
    let data = gateway.home.text_path("data");
    printed(&gateway.execute(code)).replace(&data, "DATA")
}

const ATTEMPT: &str = "
import os, pathlib, shutil
def attempt(what, *arguments, **options):
    try:
        result = what(*arguments, **options)
        print('done', '' if result is None or isinstance(result, int) else type(result).__name__)
    except OSError as error:
        print(f'{type(error).__name__}: {error}'[:160])
";

fn attempts(lines: &str) -> String {
    format!("{ATTEMPT}{lines}")
}

#[test]
fn the_standard_library_works_on_it() {
    let mut gateway = gateway();
    let code = r#"
        import csv, fileinput, glob, gzip, io, json, os, pathlib, shutil, sys, tempfile, zipfile
        print(os.getcwd(), os.listdir(), os.path.realpath('orders.csv'))
        with open('orders.csv', newline='') as file:
            print(sum(int(row['amount']) for row in csv.DictReader(file)), file.name, file.mode)
        here = pathlib.Path('.')
        (here / 'a' / 'b').mkdir(parents=True)
        (here / 'a/b/x.txt').write_text('äöü')
        print((here / 'a/b/x.txt').read_bytes(), os.stat('a/b/x.txt').st_size, os.path.isdir('a/b'))
        print(sorted(glob.glob('**/*', recursive=True)), [str(path) for path in here.rglob('*.txt')])
        print([(top, names, files) for top, names, files in os.walk('a')])
        with os.scandir('a/b') as entries:
            print([(entry.name, entry.path, entry.is_file(), entry.is_dir(), entry.stat().st_size, entry.inode() > 0) for entry in entries])
        shutil.copytree('a', 'copy')
        shutil.copy2('orders.csv', 'copy/orders.csv')
        print(os.stat('copy/orders.csv').st_mtime_ns == os.stat('orders.csv').st_mtime_ns)
        shutil.move('copy/b', 'moved')
        shutil.rmtree('copy')
        print(sorted(os.listdir()), os.listdir(b'moved'))
        with zipfile.ZipFile('all.zip', 'w') as archive:
            archive.write('orders.csv')
        print(zipfile.ZipFile('all.zip').read('orders.csv')[:6], zipfile.is_zipfile('all.zip'))
        gzip.open('x.gz', 'wt').write('zipped')
        print(gzip.open('x.gz', 'rt').read())
        with tempfile.NamedTemporaryFile('w+', suffix='.txt') as file:
            file.write('kept for a moment'); file.seek(0)
            print(file.read(), os.path.dirname(file.name))
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as file:
            open(os.path.join(folder, 'x'), 'w').close()
            print(os.listdir(folder), file.write(b'123'))
        with open('log', 'a+') as file:
            file.write('one\n'); file.seek(0); print(file.read(), end='')
        with open('log', 'r+b', buffering=0) as file:
            print(isinstance(file, io.FileIO), file.seek(1), file.write(b'N'), file.truncate(2))
        print(open('log').read(), io.FileIO('log').read(), io.open_code('log').read())
        os.truncate('log', 1); os.replace('log', 'log2'); pathlib.Path('log2').touch()
        print(os.path.getsize('log2'), os.access('log2', os.W_OK), os.access('no', os.F_OK))
        descriptor = os.open('raw', os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        os.write(descriptor, b'raw'); os.fsync(descriptor); os.close(descriptor)
        print(oct(os.stat('raw').st_mode), open('raw', opener=lambda path, flags: os.open(path, flags)).read())
        pathlib.Path('helper.py').write_text('def double(x): return 2 * x')
        sys.path.insert(0, '')
        import helper
        print(helper.double(4), os.path.basename(helper.__file__))
        os.chdir('moved'); print(os.getcwd(), open('x.txt').read(), open('../raw').read())
        print(open('../../data/raw').read(), os.path.exists('../../secret.txt'))
        os.chdir('..'); os.remove('raw'); print(os.path.exists('raw'))
    "#;
    insta::assert_snapshot!("the_standard_library", seen(&mut gateway, code));
}

#[test]
fn what_fails_says_so_as_ever() {
    let mut gateway = gateway();
    fs::create_dir_all(gateway.home.path("data/full/deep")).unwrap();
    let code = attempts(
        "
attempt(open, 'nope.txt')
attempt(open, 'full')
attempt(open, 'full', 'w')
attempt(open, 'orders.csv/x')
attempt(open, 'orders.csv', 'x')
attempt(open, 'no/new', 'w')
attempt(open, 'new/', 'w')
attempt(open, '')
attempt(open, 'x' * 300, 'w')
attempt(open, 'x' * 5000)
attempt(open, 'a/' * 2100)
attempt(os.listdir, 'orders.csv')
attempt(os.listdir, 'nope')
attempt(os.mkdir, 'full')
attempt(os.mkdir, 'no/new')
attempt(os.rmdir, 'full')
attempt(os.rmdir, 'orders.csv')
attempt(os.remove, 'full')
attempt(os.remove, b'nope')
attempt(os.rename, 'nope', 'x')
attempt(os.rename, 'orders.csv', 'full')
attempt(os.rename, '.', 'x')
attempt(os.rmdir, os.getcwd())
attempt(os.readlink, 'orders.csv')
attempt(os.stat, pathlib.Path('nope'))
attempt(os.chdir, 'orders.csv')
attempt(os.open, 'x', os.O_RDONLY, dir_fd=3)
attempt(open, '/etc/passwd')
attempt(open, '/opt/x', 'w')
attempt(os.listdir, '..')
attempt(os.rename, 'orders.csv', '/opt/x')
try:
    open('a\\0b')
except ValueError as error:
    print(error)
try:
    open(None)
except TypeError as error:
    print(error)
",
    );
    insta::assert_snapshot!("what_fails", seen(&mut gateway, &code));
    let reason = failed(&gateway.execute("def load():\n    return open('nope.txt')\nload()"));
    insta::assert_snapshot!("a_traceback", reason);
}

#[test]
fn names_need_not_be_text_and_may_be_deep_or_many() {
    let mut gateway = gateway();
    fs::write(gateway.home.path("data").join(OsStr::from_bytes(b"\xff\xfe")), "raw").unwrap();
    let many = gateway.home.path("data/many");
    fs::create_dir(&many).unwrap();
    for number in 0..100_000 {
        fs::write(many.join(format!("entry-{number}")), "").unwrap();
    }
    let code = r"
        import os
        print([name for name in os.listdir() if not name.isascii()], open('\udcff\udcfe').read())
        print([name for name in os.listdir(b'.') if not name.isascii()], open(b'\xff\xfe').read())
        names = os.listdir('many')
        print(len(names), len(set(names)), sum(1 for entry in os.scandir('many') if entry.is_file()))
        for depth in range(60):
            os.mkdir('d' * 60); os.chdir('d' * 60)
        open('end', 'w').write('deep')
        print(len(os.getcwd()) > 3600, open('end').read(), os.listdir())
    ";
    assert_eq!(
        printed(&gateway.execute(code)),
        "['\\udcff\\udcfe'] raw\n[b'\\xff\\xfe'] raw\n100000 100000 100000\nTrue deep ['end']\n"
    );
}

#[test]
fn links_pipes_and_devices_lead_nowhere() {
    let mut gateway = gateway();
    let path = |name: &str| gateway.home.path(name);
    fs::create_dir_all(path("data/sub/deep")).unwrap();
    fs::write(path("data/sub/deep/file"), "inside").unwrap();
    for (target, link) in [
        ("../secret.txt", "out"),
        ("..", "up"),
        ("sub/deep/file", "in"),
        ("sub/deep", "folder"),
        ("sub/new", "dangling"),
        ("../new", "dangling_out"),
        ("loop", "loop"),
        ("/proc/self/root/etc/passwd", "magic"),
        ("/dev/zero", "zero"),
    ] {
        symlink(target, path("data").join(link)).unwrap();
    }
    symlink(path("secret.txt"), path("data/absolute")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o666);
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, path("data/pipe"), kind, mode, 0).unwrap();
    let code = attempts(
        "
for name in 'out', 'up/secret.txt', 'absolute', 'magic', 'zero', 'loop', 'pipe', 'sub/../../secret.txt':
    for mode in 'r', 'r+', 'w', 'a':
        print(name, mode, end=' ')
        attempt(open, name, mode)
for name in 'out', 'up', 'absolute', 'zero', 'dangling_out':
    print(name, os.path.islink(name), os.path.exists(name), end=' ')
    attempt(os.listdir, name)
print(open('in').read(), open('folder/file').read(), os.listdir('folder'), os.readlink('in'))
attempt(open, 'dangling', 'w')
attempt(open, 'dangling_out', 'w')
attempt(os.chdir, 'up')
os.chdir('folder'); print(os.path.basename(os.getcwd()), open('../../orders.csv').readline())
",
    );
    insta::assert_snapshot!("links", seen(&mut gateway, &code));
    assert_eq!(fs::read_to_string(gateway.home.path("secret.txt")).unwrap(), "s3cret");
    assert!(!gateway.home.path("new").exists());
}

#[test]
fn a_link_that_changes_all_the_time_never_leads_out() {
    let mut gateway = gateway();
    let data = gateway.home.path("data");
    fs::create_dir(data.join("real")).unwrap();
    fs::write(data.join("real/secret.txt"), "harmless").unwrap();
    symlink("real", data.join("flip")).unwrap();
    let is_over = AtomicBool::new(false);
    let code = "
        import collections
        seen, refused = collections.Counter(), 0
        while refused < 50 or seen['harmless'] < 50:
            try:
                seen[open('flip/secret.txt').read()] += 1
            except FileNotFoundError:
                refused += 1
            try:
                open('flip/written', 'w').write('x')
            except FileNotFoundError:
                pass
        print(list(seen))
    ";
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                for target in ["..", "real"] {
                    symlink(target, data.join("flop")).unwrap();
                    fs::rename(data.join("flop"), data.join("flip")).unwrap();
                }
            }
        });
        let answer = gateway.execute(code);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(printed(&answer), "['harmless']\n");
    });
    assert!(!gateway.home.path("written").exists());
}

#[test]
fn threads_ask_at_the_same_time_and_calls_go_on() {
    let mut gateway = gateway();
    let code = "
        import asyncio, os, threading
        def work(number):
            for turn in range(100):
                name = f'{number}-{turn}'
                open(name, 'w').write(name)
                assert open(name).read() == name
                os.remove(name)
            done.append(number)
        done = []
        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        sums = await asyncio.gather(*(mcp__fixture__add(n, n) for n in range(50)))
        await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(6, 9)))
        for n in range(50):
            assert await mcp__fixture__add(n, 1) == n + 1
            assert open('orders.csv').readline() == 'region,amount\\n'
        for thread in threads:
            thread.join()
        print(sum(sums), sorted(done), os.listdir())
    ";
    assert_eq!(
        printed(&gateway.execute(code)),
        "2450 [0, 1, 2, 3, 4, 5, 6, 7, 8] ['orders.csv']\n"
    );
}

#[test]
fn open_files_have_a_limit_that_a_program_survives() {
    let mut gateway = gateway();
    let code = "
        files = []
        try:
            while True:
                files.append(open('orders.csv'))
        except OSError as error:
            print(error.errno, 40 < len(files) < 64)
        files.clear()
        print(open('orders.csv').readline())
    ";
    assert_eq!(printed(&gateway.execute(code)), "24 True\nregion,amount\n\n");
}

#[test]
fn a_session_keeps_its_place_and_its_files() {
    let mut gateway = gateway();
    let mut next = |code: &str| {
        let arguments = json!({ "code": code, "session": "work" });
        printed(&gateway.session.call_tool("execute_program", arguments))
    };
    assert_eq!(
        next("import os\nos.mkdir('sub'); os.chdir('sub')\nfile = open('x', 'w')"),
        "(no output)"
    );
    assert_eq!(
        next("file.write('kept'); file.close()\nprint(os.path.basename(os.getcwd()))"),
        "sub\n"
    );
    assert_eq!(next("print(open('x').read(), os.listdir('/tools'))"), "kept ['fixture']\n");
}

#[test]
fn time_zones_need_no_file() {
    let mut gateway = Gateway::with_config(&json!({ "engine": "python" }));
    let code = r#"
        import datetime, os, zoneinfo
        summer = datetime.datetime(2026, 7, 1, 12)
        for key in "Europe/Berlin", "America/New_York", "Asia/Kolkata", "UTC", "US/Eastern":
            print(key, summer.replace(tzinfo=zoneinfo.ZoneInfo(key)).isoformat())
        zones = zoneinfo.available_timezones()
        print(len(zones) > 500, "Europe/Paris" in zones, zoneinfo.TZPATH)
        for key in "Europe/berlin", "Nowhere/Land", "Europe", "../../etc/passwd", "/etc/passwd", "Europe/../UTC", "a\0b", "", "\udcff":
            try:
                print(repr(key), zoneinfo.ZoneInfo(key))
            except (KeyError, ValueError) as error:
                print(repr(key), type(error).__name__)
        print(os.path.exists("/usr/share/zoneinfo"))
    "#;
    insta::assert_snapshot!("time_zones", printed(&gateway.execute(code)));
}
