//! Reads policy files. This is the only part of the crate that touches the disk.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::problem::{PolicyErrors, PolicyProblem, Position};

/// How the names of policy files end.
const EXTENSION: &str = "cedar";

/// The largest file.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// How many files a folder may have, and how large they may be together.
const MAX_FILES: usize = 1_000;
const MAX_TOTAL_BYTES: usize = 16 * 1024 * 1024;

/// The text of a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFile {
    /// The name of the file, without its folder.
    pub name: String,
    /// Its content.
    pub text: String,
}

/// Reads a policy file, or all files of a folder that end in `.cedar`, in the order of their names.
/// Folders in the folder are not read.
pub(crate) fn read(path: &Path) -> Result<Vec<PolicyFile>, PolicyErrors> {
    let refused = |message: String| problem(path.display().to_string(), message);
    let metadata =
        fs::metadata(path).map_err(|error| refused(format!("it cannot be read: {error}")))?;
    if !metadata.is_dir() {
        let file = read_file(path, file_name(path)).map_err(PolicyErrors::from)?;
        return Ok(vec![file]);
    }
    let paths =
        paths_in(path).map_err(|error| refused(format!("the folder cannot be read: {error}")))?;
    if paths.is_empty() {
        let message = format!("no file in this folder ends in .{EXTENSION}, so there is no policy");
        return Err(refused(message).into());
    }
    if paths.len() > MAX_FILES {
        return Err(refused(format!("the folder has more than {MAX_FILES} policy files")).into());
    }
    let (mut files, mut problems, mut total) = (Vec::new(), Vec::new(), 0);
    for file in paths {
        let read = check_place(&file, path).and_then(|()| read_file(&file, file_name(&file)));
        match read {
            Ok(file) => {
                total += file.text.len();
                files.push(file);
            }
            Err(problem) => problems.push(problem),
        }
        if total > MAX_TOTAL_BYTES {
            let size = MAX_TOTAL_BYTES / (1024 * 1024);
            problems.push(refused(format!("its policy files have more than {size} MiB together")));
            break;
        }
    }
    PolicyErrors::unless_empty(files, problems)
}

/// The policy files of a folder, sorted. Hidden files are left out.
fn paths_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = file_name(&path).starts_with('.');
        if !is_hidden && path.extension().is_some_and(|it| it == EXTENSION) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Refuses a symbolic link that leads out of the folder. Links inside it are used by systems that
/// replace all files of a folder at once.
fn check_place(file: &Path, folder: &Path) -> Result<(), PolicyProblem> {
    let refused = |message: String| problem(file_name(file), message);
    let place =
        || -> io::Result<bool> { Ok(file.canonicalize()?.starts_with(folder.canonicalize()?)) };
    match place() {
        Ok(true) => Ok(()),
        Ok(false) => Err(refused(
            "it is a link to a file outside of the policy folder; copy the file instead".to_owned(),
        )),
        Err(error) => Err(refused(format!("it cannot be read: {error}"))),
    }
}

fn read_file(path: &Path, name: String) -> Result<PolicyFile, PolicyProblem> {
    let refused = |message: String| problem(name.clone(), message);
    let unreadable = |error: io::Error| refused(format!("it cannot be read: {error}"));
    // Opening a pipe would wait for its other end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(refused("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
        return Err(refused("it has more than 1 MiB; split it into several files".to_owned()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(PolicyFile { name, text }),
        Err(error) => {
            let offset = error.utf8_error().valid_up_to();
            let bytes = error.into_bytes();
            let valid = String::from_utf8_lossy(bytes.get(..offset).unwrap_or_default());
            let message =
                "there is a byte here that is not UTF-8; save the file as UTF-8".to_owned();
            Err(PolicyProblem { file: name, position: Some(Position::of(&valid, offset)), message })
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

fn problem(file: String, message: String) -> PolicyProblem {
    PolicyProblem { file, position: None, message }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn a_folder_is_read_in_the_order_of_its_names() {
        let folder = tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("b.cedar", "// b");
        write("a.cedar", "// a");
        write(".hidden.cedar", "no");
        write("notes.txt", "no");
        fs::create_dir(folder.path().join("more")).unwrap();
        write("more/c.cedar", "no");
        symlink("a.cedar", folder.path().join("link.cedar")).unwrap();
        let read: Vec<_> =
            read(folder.path()).unwrap().into_iter().map(|it| (it.name, it.text)).collect();
        let expected = [("a.cedar", "// a"), ("b.cedar", "// b"), ("link.cedar", "// a")];
        assert_eq!(read, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let outside = tempdir().unwrap();
        fs::write(outside.path().join("x.cedar"), "").unwrap();
        let folder = tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let empty = read(folder.path()).unwrap_err().to_string();
        assert!(empty.ends_with(": no file in this folder ends in .cedar, so there is no policy"));
        symlink(outside.path().join("x.cedar"), path("a.cedar")).unwrap();
        symlink("nowhere.cedar", path("b.cedar")).unwrap();
        fs::create_dir(path("c.cedar")).unwrap();
        fs::write(path("d.cedar"), b"//\n// \xc3\xa4 \xff").unwrap();
        fs::write(path("e.cedar"), vec![b' '; 1024 * 1024 + 1]).unwrap();
        insta::assert_snapshot!(read(folder.path()).unwrap_err().to_string(), @r"
        a.cedar: it is a link to a file outside of the policy folder; copy the file instead
        b.cedar: it cannot be read: No such file or directory (os error 2)
        c.cedar: it is not a regular file
        d.cedar:2:6: there is a byte here that is not UTF-8; save the file as UTF-8
        e.cedar: it has more than 1 MiB; split it into several files
        ");
        let missing = read(&path("missing")).unwrap_err().to_string();
        assert!(
            missing
                .ends_with("/missing: it cannot be read: No such file or directory (os error 2)")
        );
    }
}
