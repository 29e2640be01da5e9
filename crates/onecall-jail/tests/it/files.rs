//! A program reaches the paths it was given, in the way it was given them.

use std::fs;

use crate::inmate::{InmateFixture, users};

#[test]
fn readable_is_not_writable() {
    for user in users() {
        let fixture = InmateFixture::new();
        let readable = fixture.folder("readable");
        fs::write(readable.join("file"), "kept").unwrap();
        assert_eq!(
            fixture.run(user, &["readable", readable.to_str().unwrap()]),
            "\
read: kept
write: Operation not permitted (os error 1)
remove: Permission denied (os error 13)
",
            "as {user:?}"
        );
        assert_eq!(fs::read_to_string(readable.join("file")).unwrap(), "kept");
    }
}

#[test]
fn what_is_presented_is_seen_at_its_place_only() {
    for user in users() {
        let fixture = InmateFixture::new();
        let folder = fixture.folder("folder");
        fs::write(folder.join("file"), "kept").unwrap();
        assert_eq!(
            fixture.run(user, &["presented", folder.to_str().unwrap()]),
            "\
read: kept
entries: 1
write: Operation not permitted (os error 1)
create: Operation not permitted (os error 1)
remove: Permission denied (os error 13)
where it is: No such file or directory (os error 2)
beside it: Permission denied (os error 13)
",
            "as {user:?}"
        );
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "kept");
    }
}

#[test]
fn one_directory_may_be_written_to() {
    for user in users() {
        let fixture = InmateFixture::new();
        let (readable, writable) = (fixture.folder("readable"), fixture.folder("writable"));
        fs::write(readable.join("file"), "kept").unwrap();
        let paths = [&readable, &writable].map(|path| path.to_str().unwrap());
        assert_eq!(
            fixture.run(user, &["files", paths[0], paths[1]]),
            "\
read: kept
entries: 1
write to readable: Read-only file system (os error 30)
write: done
link: Permission denied (os error 13)
read elsewhere: No such file or directory (os error 2)
write too much: File too large (os error 27)
",
            "as {user:?}"
        );
        assert_eq!(fs::read_to_string(readable.join("file")).unwrap(), "kept");
        assert_eq!(fs::read_to_string(writable.join("new")).unwrap(), "new");
        assert_eq!(fs::metadata(writable.join("large")).unwrap().len(), 4096);
    }
}
