//! Files of other users are neither used nor changed, whatever they are named as.

#![allow(clippy::print_stderr, reason = "a skipped check is to be seen")]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{Home, finish};

const OTHER_USER: u32 = 65534;

/// Whether files can be given to another user here.
fn is_root(home: &Home) -> bool {
    let is_root = fs::metadata(home.path("work")).unwrap().uid() == 0;
    if !is_root {
        eprintln!("skipped: only root can give files away");
    }
    is_root
}

/// What can be seen of a file from outside.
fn state(path: &Path) -> (Vec<u8>, u32, u32, u64, i64) {
    let it = fs::symlink_metadata(path).unwrap();
    (fs::read(path).unwrap_or_default(), it.uid(), it.mode(), it.ino(), it.mtime_nsec())
}

fn home() -> Home {
    let home = Home::with_config(&json!({ "store": { "path": "kept/runs.db" } }));
    make_folder(&home.path("kept"));
    home
}

/// A folder that only its owner can write to, whatever is usual here.
fn make_folder(path: &Path) {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs a program, whose record cannot be stored for this reason.
fn is_refused(home: &Home, reason: &str) {
    let before = fs::read_dir(home.path("kept")).unwrap().count();
    let ended = home.run("print(1)");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "1\n"), "{}", ended.stderr);
    let said = ended.stderr.replace(&home.text_path(""), "~/");
    let expected =
        format!("nothing is stored: the store '~/kept/runs.db' cannot be used: {reason}");
    assert!(said.contains(&expected), "{said}");
    assert_eq!(fs::read_dir(home.path("kept")).unwrap().count(), before);
    if home.path("kept/runs.db").exists() {
        let doctor =
            finish(home.onecall_with_config(&["doctor"])).stdout.replace(&home.text_path(""), "~/");
        assert!(doctor.contains(reason.split(';').next().unwrap()), "{doctor}");
    }
}

#[test]
fn a_store_of_another_user_is_left_alone() {
    let home = home();
    if !is_root(&home) {
        return;
    }
    let belongs = |name: &str| {
        format!("'~/{name}' belongs to another user (uid {OTHER_USER}); onecall does not change it")
    };
    let file = home.write("kept/runs.db", "precious");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    chown(&file, Some(OTHER_USER), None).unwrap();
    let before = state(&file);
    is_refused(&home, &belongs("kept/runs.db"));
    assert_eq!(state(&file), before);

    // Nor is what SQLite would read beside it.
    fs::remove_file(&file).unwrap();
    for companion in ["kept/runs.db-wal", "kept/runs.db-shm", "kept/runs.db-journal"] {
        let file = home.write(companion, "planted");
        chown(&file, Some(OTHER_USER), None).unwrap();
        is_refused(&home, &belongs(companion));
        fs::remove_file(file).unwrap();
    }

    // A link to a file of ours, put there by the other user.
    home.write("ours", "ours");
    symlink(home.path("ours"), &file).unwrap();
    lchown(&file, Some(OTHER_USER), None).unwrap();
    is_refused(&home, &belongs("kept/runs.db"));
    assert_eq!(fs::read_to_string(home.path("ours")).unwrap(), "ours");
    fs::remove_file(&file).unwrap();

    chown(home.path("kept"), Some(OTHER_USER), None).unwrap();
    is_refused(&home, &belongs("kept"));
}

#[test]
fn a_store_that_others_can_change_is_not_used() {
    let home = home();
    let file = home.write("kept/runs.db", "");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let open =
        "other users can write to '~/kept/runs.db' (mode 666); run `chmod go-w ~/kept/runs.db`";
    is_refused(&home, open);
    assert_eq!(file.metadata().unwrap().mode() & 0o777, 0o666);

    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&file, home.path("other_name")).unwrap();
    let links = "'~/kept/runs.db' has other names that lead to the same file (hard links); onecall \
                 does not change it";
    is_refused(&home, links);
    fs::remove_file(home.path("other_name")).unwrap();

    for mode in [0o777, 0o1777] {
        fs::set_permissions(home.path("kept"), fs::Permissions::from_mode(mode)).unwrap();
        is_refused(&home, "other users can write to '~/kept' (mode 777); run `chmod go-w ~/kept`");
    }
    // With both mended, it is used.
    fs::set_permissions(home.path("kept"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(home.run("print(1)").code, Some(0));
    assert!(finish(home.onecall_with_config(&["runs"])).stdout.ends_with("ok\n"));
}

#[test]
fn a_store_behind_a_link_of_ones_own_is_used() {
    let home = home();
    make_folder(&home.path("disk"));
    let file = home.write("disk/runs.db", "");
    fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    symlink(home.path("disk/runs.db"), home.path("kept/runs.db")).unwrap();
    assert_eq!(home.run("print(1)").code, Some(0));
    assert!(fs::metadata(home.path("disk/runs.db")).unwrap().len() > 0);
}

#[test]
fn trust_that_another_user_has_written_is_none() {
    let home = Home::new();
    let file = home.write("work/onecall.yaml", "servers: []\n");
    assert_eq!(finish(home.onecall(&["trust", file.to_str().unwrap()])).code, Some(0));
    let check = || finish(home.onecall(&["check"]));
    assert!(check().stdout.contains("onecall.yaml is valid"), "{}", check().stderr);
    let store = home.path("home/state/onecall/trusted.json");
    let distrusts = |reason: &str| {
        let ended = check();
        assert!(ended.stdout.contains("No configuration file found"), "{}", ended.stdout);
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    };
    fs::set_permissions(&store, fs::Permissions::from_mode(0o602)).unwrap();
    distrusts("other users can write to");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o600)).unwrap();
    if is_root(&home) {
        chown(&store, Some(OTHER_USER), None).unwrap();
        distrusts("belongs to another user");
    }
}
