//! Resolves a path link by link, even if parts of it do not exist.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The number of links that the kernel follows before it reports a loop.
const MAX_LINKS: usize = 40;

/// The locations on disk that determine what a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RealPath {
    /// The resolved path of each symbolic link on the way: replacing the link would change the
    /// result.
    links: Vec<PathBuf>,
    /// The path without links, `.` and `..`. Parts that do not exist are kept as written.
    resolved: PathBuf,
}

enum Step {
    Root,
    Up,
    Into(OsString),
}

impl RealPath {
    /// Resolves `path`; a relative one starts in the working directory.
    pub(super) fn of(path: &Path) -> Self {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let mut links = Vec::new();
        let mut resolved = PathBuf::from("/");
        let mut steps: VecDeque<Step> = steps(&path).collect();
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Root => resolved = PathBuf::from("/"),
                Step::Up => {
                    resolved.pop();
                }
                Step::Into(name) => {
                    let next = resolved.join(name);
                    match fs::read_link(&next) {
                        Ok(target) if links.len() < MAX_LINKS => {
                            links.push(next);
                            for step in self::steps(&target).rev() {
                                steps.push_front(step);
                            }
                        }
                        _ => resolved = next,
                    }
                }
            }
        }
        Self { links, resolved }
    }

    /// The resolved path.
    pub(super) fn resolved(&self) -> &Path {
        &self.resolved
    }

    /// The first link or the final path that is inside `folder`, which must be a resolved path.
    pub(super) fn first_part_inside(&self, folder: &Path) -> Option<&Path> {
        let all = self.links.iter().chain([&self.resolved]);
        all.map(PathBuf::as_path).find(|part| part.starts_with(folder))
    }
}

fn steps(path: &Path) -> impl DoubleEndedIterator<Item = Step> {
    path.components().filter_map(|component| match component {
        Component::RootDir => Some(Step::Root),
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    /// The paths of a small tree with links of every kind: to files, folders, upwards, out
    /// of it and in again, to nothing, and to themselves.
    fn tree() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        fs::create_dir_all(at("a/b/c")).unwrap();
        fs::create_dir_all(at("d")).unwrap();
        fs::write(at("a/f"), "").unwrap();
        fs::write(at("d/f"), "").unwrap();
        let links = [
            ("../d", "a/d"),
            ("b/c", "a/c"),
            ("../a/f", "d/g"),
            ("g", "d/h"),
            ("..", "a/b/up"),
            ("not/there", "d/dangling"),
            ("loop", "d/loop"),
        ];
        for (target, link) in links {
            symlink(target, at(link)).unwrap();
        }
        symlink(at("a"), at("absolute")).unwrap();
        root
    }

    fn written_path() -> impl Strategy<Value = PathBuf> {
        let name = prop::sample::select(vec![
            "a", "b", "c", "d", "f", "g", "h", "up", "dangling", "absolute", "new", ".", "..",
        ]);
        prop::collection::vec(name, 0..8).prop_map(|names| names.into_iter().collect())
    }

    /// What the kernel says, with the part that does not exist as it is written.
    fn by_kernel(path: &Path) -> Option<PathBuf> {
        if let Ok(real) = fs::canonicalize(path) {
            return Some(real);
        }
        if fs::symlink_metadata(path).is_ok() {
            return None;
        }
        match path.components().next_back()? {
            Component::Normal(name) => Some(by_kernel(path.parent()?)?.join(name)),
            _ => None,
        }
    }

    proptest! {
        #[test]
        fn the_end_is_where_the_kernel_ends(written in written_path()) {
            let root = tree();
            // Without `.`, which the kernel refuses behind a file.
            let path: PathBuf = root.path().join(&written).components().collect();
            if let Some(real) = by_kernel(&path) {
                prop_assert_eq!(RealPath::of(&path).resolved, real);
            }
        }

        #[test]
        fn nothing_in_the_end_is_a_link_or_a_step_up(written in written_path()) {
            let root = tree();
            let resolved = RealPath::of(&root.path().join(&written)).resolved().to_owned();
            for part in resolved.ancestors() {
                prop_assert!(!part.is_symlink(), "{}", part.display());
            }
            let is_up = |component| component == Component::ParentDir;
            prop_assert!(!resolved.components().any(is_up), "{}", resolved.display());
        }

        /// Who can replace what lies in a folder can redirect exactly the paths that have a
        /// part in it.
        #[test]
        fn a_path_has_a_part_in_every_folder_that_can_redirect_it(
            written in written_path(),
            folder in prop::sample::select(vec!["a", "a/b", "a/b/c", "d"]),
        ) {
            let root = tree();
            let (path, folder) = (root.path().join(&written), root.path().join(folder));
            let real = fs::canonicalize(&folder).unwrap();
            let found = RealPath::of(&path).first_part_inside(&real).is_some();
            let before = RealPath::of(&path).resolved().to_owned();
            let ends_inside = before.starts_with(&real);
            fs::remove_dir_all(&real).unwrap();
            let redirected = RealPath::of(&path).resolved() != before;
            prop_assert!(found || !(ends_inside || redirected));
        }
    }

    #[test]
    fn a_loop_ends() {
        let root = tree();
        let real = RealPath::of(&root.path().join("d/loop/x"));
        assert_eq!(real.links.len(), MAX_LINKS);
    }
}
