//! `/tools`: where a program looks around by itself.

use std::path::PathBuf;
use std::process::Command;

use serde_json::json;
use testkit::mcp::Session;
use testkit::process::wait_until;

use crate::support::{Gateway, Home, TIMEOUT, fixture, has_system_python, printed};

/// A gateway whose folder is below `run` of its home.
fn gateway(home: Home) -> Gateway {
    std::fs::create_dir_all(home.path("run")).unwrap();
    let session = Session::open(serve(&home));
    Gateway { session, home }
}

fn serve(home: &Home) -> Command {
    let mut command = home.onecall_with_config(&["serve"]);
    command.env("XDG_RUNTIME_DIR", home.path("run"));
    command
}

/// What is in the folders on the host.
fn on_host(home: &Home) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(home.path("run")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn engines() -> Vec<&'static str> {
    let mut engines = vec!["python"];
    engines.extend(has_system_python().then_some("cpython"));
    engines
}

const LOOK: &str = "
    import glob, os, pathlib
    print(os.listdir('/tools'), sorted(os.listdir('/tools/sales')))
    print(open('/tools/sales/orders.pyi').read())
    print(sorted(glob.glob('/tools/*/o*.pyi')))
    print([str(path) for path in sorted(pathlib.Path('/tools').rglob('*.pyi'))])
    print(sorted((top, sorted(names)) for top, _, names in os.walk('/tools')))
    print(pathlib.Path('/tools/sales/orders.pyi').exists(), os.path.isdir('/tools/other'))
";

#[test]
fn a_program_looks_around() {
    let home = Home::new();
    let tools = [("orders", "All orders."), ("over-due", "Late ones."), ("secret", "Hidden.")];
    let file = home.write_tools("tools.json", &tools).display().to_string();
    let config = json!({
        "servers": [fixture("sales", &["--tools-file", &file])],
        "tools": { "block": ["mcp__sales__secret"] },
    });
    home.write("config.json", config.to_string());
    let mut gateway = gateway(home);
    for engine in engines() {
        let seen = printed(&gateway.execute_on(engine, LOOK));
        insta::assert_snapshot!("tool_folder", seen);
    }
}

#[test]
fn nobody_can_write_there() {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let mut gateway = gateway(home);
    let code = "
        import os, shutil
        def attempt(what, *arguments):
            try:
                what(*arguments)
                print('done:', what, arguments)
            except OSError as error:
                print(type(error).__name__)
        attempt(open, '/tools/new', 'w')
        attempt(open, '/tools/fixture/add.pyi', 'a')
        attempt(os.remove, '/tools/fixture/add.pyi')
        attempt(os.rename, '/tools/fixture', '/tools/other')
        attempt(os.mkdir, '/tools/folder')
        attempt(os.chmod, '/tools/fixture/add.pyi', 0o777)
        attempt(os.symlink, '/etc', '/tools/link')
        attempt(shutil.rmtree, '/tools')
        attempt(os.listdir, '/tools/..')
        attempt(open, '/tools/../etc/passwd')
        print(len(os.listdir('/tools/fixture')))
    ";
    for engine in engines() {
        let seen = printed(&gateway.execute_on(engine, code));
        assert!(!seen.contains("done:"), "{engine}: {seen}");
        assert!(seen.ends_with("\n70\n"), "{engine}: {seen}");
    }
}

#[test]
fn it_follows_the_tools() {
    let home = Home::new();
    let file = home.write_tools("tools.json", &[("first", "The first.")]).display().to_string();
    let servers = [fixture("one", &["--tools-file", &file]), fixture("two", &[])];
    home.write("config.json", json!({ "servers": servers }).to_string());
    let mut gateway = gateway(home);
    let code = "import os; print(sorted(os.listdir('/tools')), sorted(os.listdir('/tools/one')))";
    assert_eq!(gateway.prints(code), "['one', 'two'] ['first.pyi', 'first.ts']\n");
    gateway.home.write_tools("tools.json", &[("second", "The second.")]);
    gateway.wait_for_tool_change();
    assert_eq!(gateway.prints(code), "['one', 'two'] ['second.pyi', 'second.ts']\n");

    // Also for those who do not say that they look.
    let hidden = "import os; print(sorted(os.listdir('/' + 'too' + 'ls/one')))";
    gateway.home.write_tools("tools.json", &[("third", "The third.")]);
    assert!(wait_until(TIMEOUT, || gateway.prints(hidden) == "['third.pyi', 'third.ts']\n"));
    gateway.home.write(
        "config.json",
        json!({ "servers": servers, "tools": { "block": ["mcp__two__*"] } }).to_string(),
    );
    let hidden = "import os; print(os.listdir('/' + 'too' + 'ls'))";
    assert!(wait_until(TIMEOUT, || gateway.prints(hidden) == "['one']\n"));
}

#[test]
fn it_costs_nothing_until_somebody_looks_and_leaves_nothing_behind() {
    let home = Home::with_config(&json!({ "servers": [fixture("fixture", &[])] }));
    let mut gateway = gateway(home);
    assert_eq!(gateway.prints("print(await mcp__fixture__add(1, 2))"), "3\n");
    let [folder] = on_host(&gateway.home).try_into().expect("one folder");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    assert_eq!(gateway.prints("import os; print(len(os.listdir('/tools/fixture')))"), "70\n");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    gateway.session.client().close_stdin();
    gateway.session.client().wait(TIMEOUT).expect("it ends");
    assert_eq!(on_host(&gateway.home), Vec::<PathBuf>::new());

    // What one left behind that was killed, the next one takes away.
    let mut killed = Session::open(serve(&gateway.home));
    killed.client().kill();
    assert_eq!(on_host(&gateway.home).len(), 1);
    let mut next = Session::open(serve(&gateway.home));
    assert!(wait_until(TIMEOUT, || on_host(&gateway.home).len() == 1));
    next.client().close_stdin();
    next.client().wait(TIMEOUT).expect("it ends");
    assert_eq!(on_host(&gateway.home), Vec::<PathBuf>::new());
}

#[test]
fn a_workspace_goes_along_with_it() {
    let home = Home::new();
    let folder = home.path("workspace");
    std::fs::create_dir(&folder).unwrap();
    let workspace = json!({ "path": folder, "mode": "read-write" });
    let config = json!({ "servers": [fixture("fixture", &[])], "workspace": workspace });
    home.write("config.json", config.to_string());
    let mut gateway = gateway(home);
    let code = "
        import os
        open('note', 'w').write('kept')
        print(os.listdir('/tools'), os.listdir('.'))
        open('/tools/fixture/add.pyi', 'w')
    ";
    let reason = gateway.fails(code);
    assert!(reason.contains("Error: [Errno "), "{reason}");
    assert!(reason.contains("['fixture'] ['note']"), "{reason}");
}
