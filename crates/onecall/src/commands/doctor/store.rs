//! Checks the store, in which runs are recorded, without changing it.

use std::path::Path;
use std::time::Instant;

use onecall_config::{Config, RecordLevel, StoreLocation};
use onecall_core::Secret;
use onecall_core::storage::StoreError;
use onecall_core::text::shell_word;
use onecall_store::{DatabaseInspection, Inspection, inspect, inspect_database};

use super::finding::{Finding, ReportSection};
use crate::store;

pub(super) fn check(config: &Config) -> ReportSection {
    let found = match store::location(config) {
        Some(StoreLocation::File(path)) => file(&path),
        Some(StoreLocation::Database(url)) => database(&url),
        None => {
            let summary = "onecall cannot find your state directory, so nothing is stored";
            let fix = "set HOME or XDG_STATE_HOME, or `path` in store";
            Finding::yellow("file", summary).fix(fix)
        }
    };
    ReportSection { name: "store", findings: vec![found, records(config.records)] }
}

fn records(records: RecordLevel) -> Finding {
    let name =
        RecordLevel::NAMES.iter().find(|(_, known)| *known == records).map(|(name, _)| *name);
    let finding = match records {
        RecordLevel::Off => Finding::green("records", "off: runs are not recorded"),
        RecordLevel::Metadata => {
            Finding::green("records", "metadata: what ran, without arguments and results")
        }
        RecordLevel::Full => Finding::green("records", "full: with arguments and results"),
    };
    finding.fact("records", name)
}

fn file(path: &Path) -> Finding {
    let shown = path.display().to_string();
    let started = Instant::now();
    let inspected = inspect(path);
    let took = started.elapsed();
    let finding = match inspected {
        Ok(None) => Finding::green("file", format!("{shown}, created when it is needed")),
        Ok(Some(Inspection { version, newest, bytes, is_writable })) => {
            let size = kibibytes(bytes);
            let summary = format!("{shown}, {size}, schema {version}");
            let finding = match (is_writable, version == newest) {
                (false, _) => Finding::red("file", format!("{summary}, and cannot be written to"))
                    .fix(format!(
                        "run `chmod u+w {}`, or set another `path` in store",
                        shell_word(&shown)
                    )),
                (true, true) => Finding::green("file", summary).took(took),
                (true, false) => {
                    let summary = format!("{summary}, upgraded to {newest} when it is used");
                    Finding::green("file", summary)
                }
            };
            finding.fact("bytes", bytes).fact("schema", version)
        }
        Err(error) => unusable(&error, &shown),
    };
    finding.fact("path", shown)
}

fn database(url: &Secret) -> Finding {
    let started = Instant::now();
    let inspected = inspect_database(url);
    let took = started.elapsed();
    match inspected {
        Ok(DatabaseInspection { address, server_version, version, newest }) => {
            let schema = match version {
                None => "schema created when it is needed".to_owned(),
                Some(version) if version == newest => format!("schema {version}"),
                Some(version) => format!("schema {version}, upgraded to {newest} when it is used"),
            };
            let summary = format!("{address}, PostgreSQL {server_version}, {schema}");
            Finding::green("database", summary)
                .took(took)
                .fact("address", address)
                .fact("schema", version)
        }
        Err(error @ StoreError::Newer { .. }) => Finding::red("database", error.to_string())
            .fix("update onecall, or set another `url` in store"),
        Err(error) => Finding::red("database", error.to_string())
            .fix("check that the database runs, and `url` in store"),
    }
}

fn unusable(error: &StoreError, path: &str) -> Finding {
    let finding = Finding::red("file", error.to_string());
    match error {
        StoreError::Newer { .. } => finding.fix("update onecall, or set another `path` in store"),
        StoreError::DamagedWithRuns { .. } => {
            finding.fix("restore the file from a backup, or move it to another folder")
        }
        StoreError::NotAStore { .. } => finding.fix(format!(
            "move '{path}' away; otherwise the next run sets it aside and begins a new one"
        )),
        _ => finding.fix("check the permissions of the file, or set another `path` in store"),
    }
}

fn kibibytes(bytes: u64) -> String {
    match bytes.div_ceil(1024) {
        small @ 0..10_240 => format!("{small} KiB"),
        large => format!("{} MiB", large / 1024),
    }
}
