//! Reads paths, which are relative to the folder of the configuration file. The file system is not
//! accessed, because it may change later.

use std::path::{Component, Path, PathBuf};

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::expand::Environment;
use crate::reader;

pub(crate) struct PathReader<'r> {
    /// The folder of the configuration file.
    pub(crate) folder: &'r Path,
    pub(crate) environment: &'r Environment<'r>,
}

impl PathReader<'_> {
    /// Reads an absolute path.
    pub(crate) fn absolute(&self, node: &Node, what: &str, report: &mut Report) -> Option<PathBuf> {
        let text = self.text(node, what, report)?;
        self.resolved(node, what, &text, report)
    }

    /// Reads an absolute path, or a name without a slash, which is looked up on `PATH`.
    pub(crate) fn program(&self, node: &Node, what: &str, report: &mut Report) -> Option<PathBuf> {
        let text = self.text(node, what, report)?;
        if text.contains('/') {
            self.resolved(node, what, &text, report)
        } else {
            Some(PathBuf::from(text))
        }
    }

    fn text(&self, node: &Node, what: &str, report: &mut Report) -> Option<String> {
        let text = reader::path(node, what, self.environment, report)?;
        reader::not_empty(node, what, text, report)
    }

    fn resolved(
        &self,
        node: &Node,
        what: &str,
        text: &str,
        report: &mut Report,
    ) -> Option<PathBuf> {
        match std::path::absolute(self.folder.join(text)) {
            Ok(path) => Some(path),
            Err(reason) => {
                let message = format!("{what} cannot be made an absolute path: {reason}");
                report.add(Problem::new(node.at, message).with_help("write an absolute path"));
                None
            }
        }
    }
}

/// Whether an absolute path is the root directory, however it is written.
pub(crate) fn is_root(path: &Path) -> bool {
    let mut depth = 0_usize;
    for component in path.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::ParentDir => depth = depth.saturating_sub(1),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    depth == 0
}
