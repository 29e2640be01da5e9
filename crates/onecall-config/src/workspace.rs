//! Reads the section `workspace`: the directory that programs may use.

use std::path::PathBuf;

use onecall_core::{Workspace, WorkspaceAccess};

use crate::document::Node;
use crate::error::{Problem, Report};
use crate::parse::MEBIBYTE;
use crate::path::{PathReader, is_root};
use crate::reader::{self, Entry, Section};
use crate::schema::WORKSPACE;

/// The default quota of a workspace.
pub const DEFAULT_MAX_BYTES: u64 = 100 * MEBIBYTE;

/// The largest quota that is accepted; it keeps sums of sizes far from overflow.
const LARGEST_MAX_BYTES: u64 = 1 << 50;

#[derive(Clone, Copy, PartialEq, Eq)]
enum WorkspaceMode {
    ReadOnly,
    ReadWrite,
}

impl WorkspaceMode {
    const NAMES: [(&str, Self); 2] =
        [("read-only", Self::ReadOnly), ("read-write", Self::ReadWrite)];
}

pub(crate) fn read_workspace(
    given: &Entry<'_>,
    paths: &PathReader<'_>,
    report: &mut Report,
) -> Option<Workspace> {
    let section = Section::open(given.value, "workspace", WORKSPACE, report)?;
    let path = match section.get("path") {
        Some(node) => read_path(node, paths, report),
        None => {
            report.add(Problem::new(given.at, "workspace needs a 'path'"));
            None
        }
    };
    let access = read_access(&section, report);
    Some(Workspace { path: path?, access: access? })
}

fn read_path(node: &Node, paths: &PathReader<'_>, report: &mut Report) -> Option<PathBuf> {
    let path = paths.absolute(node, "'path' in workspace", report)?;
    if is_root(&path) {
        let message = "'path' in workspace must not be '/', the whole disk";
        let help = "give programs a folder of their own";
        report.add(Problem::new(node.at, message).with_help(help));
        return None;
    }
    Some(path)
}

fn read_access(section: &Section<'_>, report: &mut Report) -> Option<WorkspaceAccess> {
    let mode = match section.get("mode") {
        Some(node) => reader::choice(
            node,
            "'mode' in workspace",
            "a workspace mode",
            &WorkspaceMode::NAMES,
            report,
        ),
        None => Some(WorkspaceMode::ReadOnly),
    };
    let max_bytes = section.entry("max_bytes");
    match mode? {
        WorkspaceMode::ReadOnly => {
            if let Some(entry) = max_bytes {
                let message =
                    "'max_bytes' is for a read-write workspace, but this one is read-only";
                let help = "remove it, or add 'mode: read-write'";
                report.add(Problem::new(entry.at, message).with_help(help));
            }
            Some(WorkspaceAccess::ReadOnly)
        }
        WorkspaceMode::ReadWrite => {
            let max_bytes = match max_bytes {
                Some(entry) => reader::whole_number(
                    entry.value,
                    "'max_bytes' in workspace",
                    1..=LARGEST_MAX_BYTES,
                    report,
                )?,
                None => DEFAULT_MAX_BYTES,
            };
            Some(WorkspaceAccess::ReadWrite { max_bytes })
        }
    }
}
