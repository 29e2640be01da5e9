//! The one folder that programs may use, on every engine.

use std::fs;

use serde_json::json;

use crate::support::{Gateway, Home, failed, finish, has_system_python, printed};

fn engines() -> Vec<&'static str> {
    if has_system_python() { vec!["python", "cpython"] } else { vec!["python"] }
}

/// A gateway with the folder `data` of its home as workspace.
fn gateway(mode: &str, max_bytes: Option<u64>) -> Gateway {
    let mut workspace = json!({ "path": "data", "mode": mode });
    if let Some(max_bytes) = max_bytes {
        workspace["max_bytes"] = max_bytes.into();
    }
    let home = Home::with_config(&json!({ "workspace": workspace }));
    home.write("data/orders.csv", "region,amount\nEU,3\nUS,4\n");
    home.write("secret.txt", "s3cret");
    std::os::unix::fs::symlink(home.path("secret.txt"), home.path("data/link.txt")).unwrap();
    Gateway::in_home(home)
}

const READING: &str = "
    import csv, json, os, pathlib
    with open('orders.csv', newline='') as file:
        print(sum(int(row['amount']) for row in csv.DictReader(file)))
    here = pathlib.Path.cwd()
    print(here.name, sorted(path.name for path in here.iterdir()))
    print((here / 'orders.csv').read_text().splitlines()[0], os.path.getsize('orders.csv'))
    def attempt(what, breach):
        try:
            print(what, '->', breach())
        except OSError as error:
            print(what, '->', type(error).__name__)
    attempt('follow a link out', lambda: open('link.txt').read())
    attempt('climb out', lambda: open('../secret.txt').read())
    attempt('name it', lambda: open(here.parent / 'secret.txt').read())
    attempt('look around', lambda: os.listdir('..'))
";

const SEEN: &str = "\
7
data ['link.txt', 'orders.csv']
region,amount 24
follow a link out -> FileNotFoundError
climb out -> FileNotFoundError
name it -> FileNotFoundError
look around -> PermissionError
";

#[test]
fn a_program_reads_its_workspace_and_nothing_beside_it() {
    for mode in ["read-only", "read-write"] {
        let mut gateway = gateway(mode, None);
        for engine in engines() {
            assert_eq!(printed(&gateway.execute_on(engine, READING)), SEEN, "{engine}, {mode}");
        }
    }
}

#[test]
fn read_only_is_read_only() {
    let mut gateway = gateway("read-only", None);
    let code = "
        import os
        def attempt(what, breach):
            try:
                print(what, '->', breach())
            except OSError as error:
                print(what, '->', type(error).__name__)
        attempt('write', lambda: open('new.txt', 'w'))
        attempt('append', lambda: open('orders.csv', 'a'))
        attempt('remove', lambda: os.remove('orders.csv'))
        attempt('rename', lambda: os.rename('orders.csv', 'x'))
        attempt('make a folder', lambda: os.mkdir('x'))
        attempt('truncate', lambda: os.truncate('orders.csv', 0))
    ";
    for engine in engines() {
        let seen = printed(&gateway.execute_on(engine, code));
        let refused: Vec<&str> =
            seen.lines().filter(|line| line.ends_with("-> PermissionError")).collect();
        assert_eq!(refused.len(), 6, "{engine}: {seen}");
    }
    let left = fs::read_to_string(gateway.home.path("data/orders.csv")).unwrap();
    assert_eq!(left, "region,amount\nEU,3\nUS,4\n");
}

#[test]
fn what_a_program_writes_is_there_for_the_next_and_for_the_user() {
    let mut gateway = gateway("read-write", None);
    for engine in engines() {
        let code = "
            import csv, json, os, pathlib
            json.dump({'total': 7}, open('total.json', 'w'))
            with open('rows.csv', 'w', newline='') as file:
                csv.writer(file).writerows([[1, 2], [3, 4]])
            os.makedirs('deep/er', exist_ok=True)
            os.rename('rows.csv', 'deep/er/rows.csv')
            pathlib.Path('gone.txt').write_text('x')
            os.remove('gone.txt')
        ";
        printed(&gateway.execute_on(engine, code));
        let next = "import json\nprint(json.load(open('total.json')))";
        assert_eq!(printed(&gateway.execute_on(engine, next)), "{'total': 7}\n");
        let rows = fs::read_to_string(gateway.home.path("data/deep/er/rows.csv")).unwrap();
        assert_eq!(rows, "1,2\r\n3,4\r\n", "{engine}");
        assert!(!gateway.home.path("data/gone.txt").exists());
        fs::remove_dir_all(gateway.home.path("data/deep")).unwrap();
    }
}

#[test]
fn one_file_ends_at_the_quota() {
    let mut gateway = gateway("read-write", Some(1_000_000));
    let code = "
        import os
        try:
            with open('large', 'wb') as file:
                while True:
                    file.write(bytes(100_000))
        except OSError as error:
            print(error.errno, 900_000 < os.path.getsize('large') <= 1_000_000)
        os.remove('large')
    ";
    for engine in engines() {
        assert_eq!(printed(&gateway.execute_on(engine, code)), "27 True\n", "{engine}");
    }
}

#[test]
fn many_files_end_near_the_quota() {
    let mut gateway = gateway("read-write", Some(1_000_000));
    let fillers = [
        "for number in range(10**9): open(f'f{number}', 'wb').write(bytes(50_000))",
        "for number in range(10**9): open(f'f{number}', 'wb').close()",
        "import os\nfor number in range(10**9): os.mkdir(f'f{number}')",
    ];
    for engine in engines() {
        for filler in fillers {
            let reason = failed(&gateway.execute_on(engine, filler));
            let full = "OSError: the workspace is over its quota of 1000000 bytes";
            assert_eq!(reason, full, "{engine}: {filler}");
            let mut taken = 0;
            for entry in fs::read_dir(gateway.home.path("data")).unwrap() {
                let entry = entry.unwrap();
                taken += entry.metadata().unwrap().len().max(4096);
                if entry.file_name().to_string_lossy().starts_with('f') {
                    let path = entry.path();
                    _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
                }
            }
            // The kernel goes on while the folder is measured, but not for long.
            assert!(taken < 200_000_000, "{engine}: {filler}: {taken} bytes");
        }
        assert_eq!(
            printed(&gateway.execute_on(engine, "_ = open('x', 'w').write('x')")),
            "(no output)"
        );
    }
}

#[test]
fn links_modes_and_devices_cannot_be_made() {
    let mut gateway = gateway("read-write", None);
    let code = "
        import os
        def attempt(what, breach):
            try:
                print(what, '->', breach())
            except (OSError, AttributeError) as error:
                print(what, '->', type(error).__name__)
        attempt('symlink', lambda: os.symlink('/etc', 'etc'))
        attempt('hard link', lambda: os.link('orders.csv', 'twin'))
        attempt('mode', lambda: os.chmod('orders.csv', 0o777))
        attempt('fifo', lambda: os.mkfifo('fifo'))
        attempt('device', lambda: os.mknod('device'))
        attempt('root', lambda: open('/new', 'w'))
    ";
    for engine in engines() {
        let seen = printed(&gateway.execute_on(engine, code));
        let refused = seen.lines().filter(|line| line.ends_with("Error")).count();
        assert_eq!(refused, 6, "{engine}: {seen}");
    }
}

#[test]
fn a_workspace_that_is_not_there_is_told_at_once() {
    let home = Home::with_config(&json!({ "workspace": { "path": "nowhere" } }));
    let ended = home.run("print(1)");
    let path = home.text_path("nowhere");
    let expected = format!(
        "error: the workspace '{path}' cannot be used: No such file or directory (os error 2)\n"
    );
    assert_eq!((ended.code, ended.stderr), (Some(2), expected));
    home.write("nowhere", "a file");
    let ended = finish(home.onecall_with_config(&["doctor"]));
    let expected = format!("✗ workspace  the workspace '{path}' is not a folder\n");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains(&expected), "{}", ended.stdout);
    fs::remove_file(home.path("nowhere")).unwrap();
    std::os::unix::fs::symlink("/", home.path("nowhere")).unwrap();
    let ended = home.run("print(1)");
    let expected = format!("error: the workspace '{path}' (really '/') holds ");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.starts_with(&expected), "{}", ended.stderr);
}

#[test]
fn without_one_there_is_no_file_at_all() {
    let mut gateway = Gateway::with_config(&json!({}));
    for engine in engines() {
        let code = "import os\nprint(os.getcwd())\nopen('x', 'w')";
        let reason = failed(&gateway.execute_on(engine, code));
        assert!(reason.contains("PermissionError"), "{engine}: {reason}");
        assert!(reason.contains("\n[Output before the failure]\n/\n["), "{engine}: {reason}");
    }
}
