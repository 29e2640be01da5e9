//! Files of a writable workspace that other programs run: the embedded Python cannot change
//! them, and what the system's Python did to them is said in its answer.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{Gateway, Home, failed, has_system_python, printed};

/// A gateway with a writable workspace that looks like a project under version control.
fn gateway() -> Gateway {
    let workspace = json!({ "path": "data", "mode": "read-write" });
    let home = Home::with_config(&json!({ "workspace": workspace }));
    for (file, text) in FILES {
        home.write(&format!("data/{file}"), text);
    }
    symlink(".git/hooks", home.path("data/shortcut")).unwrap();
    symlink("package.json", home.path("data/alias")).unwrap();
    fs::hard_link(home.path("data/Makefile"), home.path("data/twin")).unwrap();
    Gateway::in_home(home)
}

const FILES: [(&str, &str); 7] = [
    (".git/hooks/pre-commit", "#!/bin/sh\n"),
    ("package.json", "{}"),
    ("Makefile", "all:\n"),
    ("inner/.vscode/tasks.json", "{}"),
    ("bare/HEAD", "ref: refs/heads/main\n"),
    ("bare/objects/info/packs", ""),
    ("notes.txt", "notes"),
];

fn is_untouched(data: &Path) {
    for (file, text) in FILES {
        assert_eq!(fs::read_to_string(data.join(file)).unwrap(), text, "{file}");
    }
}

#[test]
fn they_can_be_read_and_not_changed() {
    let mut gateway = gateway();
    let code = r"
        import os, pathlib, shutil
        print(open('.git/hooks/pre-commit').read(), open('shortcut/pre-commit').read(), os.listdir('.git'))
        def attempt(what, *arguments, **options):
            shown = ' '.join(str(it) for it in arguments)
            try:
                what(*arguments, **options)
                print('done:', shown)
            except PermissionError as error:
                print(error)
        attempt(open, '.git/hooks/pre-commit', 'w')
        attempt(open, '.git/hooks/post-merge', 'x')
        attempt(open, 'shortcut/post-merge', 'w')
        attempt(open, 'alias', 'a')
        attempt(open, 'Package.JSON', 'w')
        attempt(open, 'sub.mk', 'w')
        attempt(open, 'twin', 'r+')
        attempt(open, 'inner/../package.json', 'r+')
        attempt(os.open, '.envrc', os.O_CREAT)
        attempt(os.truncate, 'Makefile', 0)
        attempt(os.utime, 'Makefile')
        attempt(os.mkdir, '.git')
        attempt(os.mkdir, 'inner/.GIT ')
        attempt(os.makedirs, '.github/workflows')
        attempt(os.remove, 'package.json')
        attempt(os.rename, 'notes.txt', '.bashrc')
        attempt(os.rename, 'Makefile', 'notes.txt')
        attempt(os.rename, '.git', 'git')
        attempt(os.rename, 'inner', 'outer')
        attempt(os.replace, 'notes.txt', 'inner/conftest.py')
        attempt(shutil.copyfile, 'notes.txt', 'shortcut/pre-push')
        attempt(pathlib.Path('x.pth').write_text, 'import os')
        attempt(open, 'bare/config', 'w')
        attempt(os.mkdir, 'bare/hooks')
        print(os.access('package.json', os.R_OK), os.access('package.json', os.W_OK))
        attempt(os.rename, 'notes.txt', 'package.json.txt')
        attempt(os.rename, 'package.json.txt', 'notes.txt')
    ";
    insta::assert_snapshot!("protected_files", printed(&gateway.execute_on("python", code)));
    is_untouched(&gateway.home.path("data"));
    let found = fs::read_dir(gateway.home.path("data")).unwrap();
    let mut names: Vec<_> = found.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    let expected = [
        ".git",
        "Makefile",
        "alias",
        "bare",
        "inner",
        "notes.txt",
        "package.json",
        "shortcut",
        "twin",
    ];
    assert_eq!(names, expected);
    let hooks = fs::read_dir(gateway.home.path("data/.git/hooks")).unwrap();
    assert_eq!(hooks.count(), 1);
}

#[test]
fn what_the_systems_python_did_to_them_is_said() {
    if !has_system_python() {
        return;
    }
    let mut gateway = gateway();
    let data = gateway.home.path("data");
    let quiet = "open('other.txt', 'w').write('x'); print(open('package.json').read())";
    assert_eq!(printed(&gateway.execute_on("cpython", quiet)), "{}\n");

    let code = "
        import os
        open('package.json', 'w').write('{\"scripts\": {}}')
        open('.git/hooks/post-merge', 'w').write('x')
        os.makedirs('new/.idea/inspection')
        os.remove('inner/.vscode/tasks.json')
        print('done')
    ";
    insta::assert_snapshot!("remark", printed(&gateway.execute_on("cpython", code)));

    // Each program answers for itself, also in a session and where it fails.
    let mut next = |code: &str| {
        let arguments = json!({ "code": code, "session": "work", "engine": "cpython" });
        gateway.session.call_tool("execute_program", arguments)
    };
    let answer = printed(&next("file = open('.envrc', 'w'); print(1)"));
    assert!(answer.starts_with("1\n[Files in the workspace"), "{answer}");
    assert_eq!(printed(&next("print(2)")), "2\n");
    let answer = failed(&next("file.write('x'); file.close(); 1 / 0"));
    assert!(answer.contains("ZeroDivisionError"), "{answer}");
    assert!(answer.contains("\".envrc\" (changed)"), "{answer}");
    assert!(data.join(".envrc").exists());
}
