//! The built-in tools that read, write, list and search the files of one folder. Every call has a
//! size limit and a time limit.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onecall_config::{FileAction, FilesTool};
use onecall_core::ToolValue;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;
use tokio::time::timeout;

use super::answer::json;
use super::folder::{EntryKind, Folder, FolderError, RelativePath};
use super::pattern::{Pattern, PatternError};

/// The largest amount that is read at once, and the largest size of a file that is written.
const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The largest number of entries in a result.
const MAX_ENTRIES: usize = 50_000;

/// The time limit of a call: a folder may be on a network, and large.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a call of a built-in tool failed. The display text is what the program reads.
#[derive(Debug, Error)]
pub(crate) enum FilesError {
    #[error("{0}")]
    Arguments(String),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("'{path}' cannot be read: {source}")]
    NotRead { path: String, source: io::Error },
    #[error("'{path}' cannot be written: {source}")]
    NotWritten { path: String, source: io::Error },
    #[error(
        "'{path}': that is more than {} MiB; read it in parts with offset and limit, which \
         count lines",
        MAX_BYTES >> 20
    )]
    TooMuch { path: String },
    #[error("'{path}' would have more than {} MiB", MAX_BYTES >> 20)]
    TooLarge { path: String },
    #[error("'{path}' is not a text file: byte {at} of what was read is not UTF-8")]
    NotText { path: String, at: usize },
    #[error("the folder has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    #[error("the pattern matches more than {MAX_ENTRIES} files")]
    TooManyMatches,
    #[error("it took longer than {}s", CALL_TIMEOUT.as_secs())]
    TooSlow,
    #[error("the operation was cancelled")]
    Aborted,
    #[error(transparent)]
    NoJson(#[from] serde_json::Error),
}

/// Executes one call. Dropping the future stops a search, but a write that has begun is completed.
pub(super) async fn call(tool: &FilesTool, arguments: &RawValue) -> Result<ToolValue, FilesError> {
    let deadline = CallDeadline::new();
    let work = {
        let (tool, arguments, deadline) = (tool.clone(), arguments.to_owned(), deadline.share());
        move || execute(&tool, &arguments, &deadline)
    };
    match timeout(CALL_TIMEOUT, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(value)) => value,
        Ok(Err(_)) => Err(FilesError::Aborted),
        Err(_) => Err(FilesError::TooSlow),
    }
}

/// Why the tool cannot be used at present, if so.
pub(super) fn problem(tool: &FilesTool) -> Option<String> {
    let problem = Folder::open(&tool.root).err()?;
    Some(format!("{problem} ('{}'); check 'root'", tool.root.display()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WriteArguments {
    path: String,
    content: String,
    append: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ListArguments {
    path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GlobArguments {
    pattern: String,
}

fn parse<'a, T: Deserialize<'a>>(arguments: &'a RawValue) -> Result<T, FilesError> {
    serde_json::from_str(arguments.get()).map_err(|error| {
        let message = error.to_string();
        // The position in the JSON text is useless to the caller, who passed values and no text.
        let what = message.rsplit_once(" at line ").map_or(&*message, |(what, _)| what);
        FilesError::Arguments(what.to_owned())
    })
}

fn execute(
    tool: &FilesTool,
    arguments: &RawValue,
    deadline: &CallDeadline,
) -> Result<ToolValue, FilesError> {
    match tool.action {
        FileAction::Read => {
            let arguments: ReadArguments = parse(arguments)?;
            let file = Folder::open(&tool.root)?.read(RelativePath::new(&arguments.path)?)?;
            Ok(json(&read(file, &arguments, deadline)?)?)
        }
        FileAction::Write => {
            let arguments: WriteArguments = parse(arguments)?;
            write(&Folder::open(&tool.root)?, &arguments)
        }
        FileAction::List => {
            let arguments: ListArguments = parse(arguments)?;
            let path =
                arguments.path.as_deref().map_or(Ok(RelativePath::FOLDER), RelativePath::new)?;
            list(&Folder::open(&tool.root)?, path, deadline)
        }
        FileAction::Glob => {
            let arguments: GlobArguments = parse(arguments)?;
            let pattern = Pattern::parse(&arguments.pattern)?;
            Ok(json(&glob(&Folder::open(&tool.root)?, &pattern, deadline)?)?)
        }
    }
}

fn read(
    file: File,
    arguments: &ReadArguments,
    deadline: &CallDeadline,
) -> Result<String, FilesError> {
    let path = || arguments.path.clone();
    let failed = |source| FilesError::NotRead { path: path(), source };
    let mut source = BufReader::with_capacity(64 * 1024, file);
    for _ in 0..arguments.offset.unwrap_or(0) {
        deadline.check()?;
        if !skip_line(&mut source, deadline).map_err(failed)? {
            break;
        }
    }
    let mut bytes = Vec::new();
    // One byte more than allowed, to detect that the limit is exceeded.
    let mut source = source.take(MAX_BYTES as u64 + 1);
    match arguments.limit {
        None => {
            source.read_to_end(&mut bytes).map_err(failed)?;
        }
        Some(limit) => {
            for _ in 0..limit {
                deadline.check()?;
                if source.read_until(b'\n', &mut bytes).map_err(failed)? == 0 {
                    break;
                }
            }
        }
    }
    if bytes.len() > MAX_BYTES {
        return Err(FilesError::TooMuch { path: path() });
    }
    String::from_utf8(bytes)
        .map_err(|error| FilesError::NotText { path: path(), at: error.utf8_error().valid_up_to() })
}

/// Skips one line without storing it; returns whether there was one.
fn skip_line(source: &mut impl BufRead, deadline: &CallDeadline) -> io::Result<bool> {
    let mut is_any = false;
    loop {
        let buffer = source.fill_buf()?;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(buffer.len(), |end| end + 1);
        is_any |= length > 0;
        source.consume(length);
        if end.is_some() || length == 0 || deadline.check().is_err() {
            return Ok(is_any);
        }
    }
}

#[derive(Serialize)]
struct WriteResult {
    size: u64,
}

fn write(folder: &Folder, arguments: &WriteArguments) -> Result<ToolValue, FilesError> {
    let path = || arguments.path.clone();
    let failed = |source| FilesError::NotWritten { path: path(), source };
    let appends = arguments.append == Some(true);
    let too_large = || FilesError::TooLarge { path: path() };
    if arguments.content.len() > MAX_BYTES {
        return Err(too_large());
    }
    let flags = if appends { OFlags::APPEND } else { OFlags::empty() };
    let mut file = folder.write(RelativePath::new(&arguments.path)?, flags)?;
    if appends {
        let size = file.metadata().map_err(failed)?.len();
        if size.saturating_add(arguments.content.len() as u64) > MAX_BYTES as u64 {
            return Err(too_large());
        }
    } else {
        file.set_len(0).map_err(failed)?;
    }
    file.write_all(arguments.content.as_bytes()).map_err(failed)?;
    Ok(json(&WriteResult { size: file.metadata().map_err(failed)?.len() })?)
}

#[derive(Serialize)]
struct ListedEntry {
    name: String,
    #[serde(rename = "type")]
    kind: EntryKind,
    size: u64,
}

fn list(
    folder: &Folder,
    path: RelativePath<'_>,
    deadline: &CallDeadline,
) -> Result<ToolValue, FilesError> {
    let mut listed: Vec<ListedEntry> = Vec::new();
    folder.entries(path, &mut |entry| {
        deadline.check()?;
        if listed.len() == MAX_ENTRIES {
            return Err(FilesError::TooManyEntries);
        }
        listed.push(ListedEntry { name: entry.name, kind: entry.kind, size: entry.size });
        Ok(())
    })?;
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(json(&listed)?)
}

/// Searches the folder as deep as the pattern can match. Links to folders are not followed, so
/// there are no cycles.
fn glob(
    folder: &Folder,
    pattern: &Pattern,
    deadline: &CallDeadline,
) -> Result<Vec<String>, FilesError> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), pattern.start())];
    while let Some((above, matched)) = open.pop() {
        let path = if above.is_empty() { RelativePath::FOLDER } else { RelativePath::new(&above)? };
        let walked = folder.entries(path, &mut |entry| {
            deadline.check()?;
            let matched = pattern.advance(&matched, &entry.name);
            let separator = if above.is_empty() { "" } else { "/" };
            let path = || format!("{above}{separator}{}", entry.name);
            match entry.kind {
                EntryKind::Folder if pattern.can_match_below(&matched) => {
                    open.push((path(), matched))
                }
                EntryKind::File | EntryKind::Link if pattern.is_complete(&matched) => {
                    let path = path();
                    if entry.kind == EntryKind::File || folder.has_file(&path) {
                        found.push(path);
                    }
                }
                _ => {}
            }
            match found.len() > MAX_ENTRIES {
                true => Err(FilesError::TooManyMatches),
                false => Ok(()),
            }
        });
        // A folder that cannot be read, or no longer exists, is skipped.
        match walked {
            Err(reason) if above.is_empty() || deadline.check().is_err() => return Err(reason),
            Err(reason) if found.len() > MAX_ENTRIES => return Err(reason),
            _ => {}
        }
    }
    found.sort();
    Ok(found)
}

/// Limits the time of a call: it expires after `CALL_TIMEOUT`, or when the caller drops the call.
struct CallDeadline {
    until: Instant,
    is_over: Arc<AtomicBool>,
}

impl CallDeadline {
    fn new() -> Self {
        Self { until: Instant::now() + CALL_TIMEOUT, is_over: Arc::default() }
    }

    /// A second handle for the thread that does the work.
    fn share(&self) -> Self {
        Self { until: self.until, is_over: Arc::clone(&self.is_over) }
    }

    fn check(&self) -> Result<(), FilesError> {
        match self.is_over.load(Ordering::Relaxed) || Instant::now() > self.until {
            true => Err(FilesError::TooSlow),
            false => Ok(()),
        }
    }
}

impl Drop for CallDeadline {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}
