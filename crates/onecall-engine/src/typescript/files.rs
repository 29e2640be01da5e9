//! File access for the prelude: each function sends one request to the gateway, which opens files and
//! passes their descriptors; without a sandbox, `direct_files.rs` opens them. `files.js` makes the
//! module `fs` of it.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use onecall_core::InPlaceReason;
use onecall_jail::JailMode;
use rquickjs::{Array, Ctx, Function, Object, Result, String as JsString, TypedArray, Value};
use rustix::fs::OFlags;
use rustix::io::Errno;

use super::{direct_files, journal};
use crate::files::channel::{FileClient, RequestError};
use crate::files::packets::{FileAnswer, FileRequest, FileStatus, FolderPath, decode_entries};
use crate::sandbox_plan::{SandboxPlan, VisibleFolder};

static FOLDERS: OnceLock<Vec<VisibleFolder>> = OnceLock::new();
static FILE_CLIENT: OnceLock<FileClient> = OnceLock::new();

thread_local! {
    static HAS_SCRATCH: Cell<bool> = const { Cell::new(false) };
}

/// The path of the scratch folder.
const SCRATCH_PATH: &str = "/tmp";

/// The permissions of a new file and of a new directory.
const FILE_MODE: u32 = 0o666;
const DIRECTORY_MODE: u32 = 0o777;

/// Sets the folders that the programs of this process will have. Without a sandbox that is the whole
/// file system.
pub(super) fn configure(plan: &SandboxPlan) {
    let folders = match plan.requirement().mode {
        JailMode::Off => {
            let path = direct_files::ROOT_PATH.to_owned();
            vec![VisibleFolder { path, number: direct_files::ROOT }]
        }
        JailMode::Required | JailMode::BestEffort => plan.visible_folders(),
    };
    // A process is configured once, before any program runs in it.
    _ = FOLDERS.set(folders);
}

/// Adds the scratch folder to the folders of the program.
pub(super) fn add_scratch() {
    HAS_SCRATCH.set(true);
}

/// Sets the socket for requests, once in the life of a worker.
pub(super) fn attach(socket: OwnedFd) {
    _ = FILE_CLIENT.set(FileClient::new(socket));
}

/// The socket for requests, if there is one.
pub(super) fn descriptor() -> Option<BorrowedFd<'static>> {
    FILE_CLIENT.get().map(FileClient::descriptor)
}

/// Adds the functions to those of the prelude.
pub(super) fn add_to<'js>(native: &Object<'js>, ctx: &Ctx<'js>) -> Result<()> {
    native.set("folders", Function::new(ctx.clone(), folders)?)?;
    native.set("workingDirectory", Function::new(ctx.clone(), working_directory)?)?;
    native.set("fileRead", Function::new(ctx.clone(), read)?)?;
    native.set("fileText", Function::new(ctx.clone(), text)?)?;
    native.set("fileWrite", Function::new(ctx.clone(), write)?)?;
    native.set("fileStatus", Function::new(ctx.clone(), status)?)?;
    native.set("fileList", Function::new(ctx.clone(), list)?)?;
    native.set("fileChange", Function::new(ctx.clone(), change)?)?;
    native.set("fileRename", Function::new(ctx.clone(), rename)?)
}

/// The folders that programs may use: the path of each as programs see it, and its number.
fn folders(ctx: Ctx<'_>) -> Result<Array<'_>> {
    let folders = Array::new(ctx.clone())?;
    let configured = FOLDERS.get().into_iter().flatten();
    let configured = configured.map(|folder| (folder.path.as_str(), folder.number));
    let scratch = HAS_SCRATCH.get().then_some((SCRATCH_PATH, crate::files::SCRATCH));
    for (index, (path, number)) in configured.chain(scratch).enumerate() {
        let pair = Array::new(ctx.clone())?;
        pair.set(0, path)?;
        pair.set(1, number)?;
        folders.set(index, pair)?;
    }
    Ok(folders)
}

/// The folder that relative paths begin at.
fn working_directory() -> String {
    match FOLDERS.get().and_then(|folders| folders.first()) {
        Some(first) if first.number == direct_files::ROOT => std::env::current_dir()
            .map_or_else(|_| first.path.clone(), |path| path.to_string_lossy().into_owned()),
        Some(first) if first.number == crate::files::WORKSPACE => first.path.clone(),
        _ => "/".to_owned(),
    }
}

/// Whether this process opens files itself.
fn opens_directly() -> bool {
    FOLDERS.get().into_iter().flatten().any(|folder| folder.number == direct_files::ROOT)
}

/// Sends a request; `take` keeps what the answer has, and returns whether it expected the answer.
fn ask<T: Default>(
    request: FileRequest<'_>,
    take: impl Fn(FileAnswer<'_>, Option<OwnedFd>, &mut T) -> bool,
) -> std::result::Result<T, RequestError> {
    let mut taken = T::default();
    if opens_directly() {
        return match direct_files::execute(request, |answer, file| take(answer, file, &mut taken)) {
            Ok(true) => Ok(taken),
            Ok(false) => Err(Errno::IO.into()),
            Err(error) => Err(failure(&error)),
        };
    }
    let client = FILE_CLIENT.get().ok_or(Errno::NOENT)?;
    client.request(request, |answer, file| {
        let is_unfinished = matches!(answer, FileAnswer::Entries { last: false, .. });
        match take(answer, file, &mut taken) {
            true => Ok(is_unfinished.then_some(FileRequest::ListMore)),
            // The gateway never answers this request in this way.
            false => Err(Errno::IO.into()),
        }
    })?;
    Ok(taken)
}

/// A run that changes files cannot be repeated elsewhere.
fn before_change(folder: u8) -> std::result::Result<(), RequestError> {
    let reason = match folder {
        crate::files::WORKSPACE => InPlaceReason::Workspace,
        direct_files::ROOT => InPlaceReason::Unconfined,
        _ => return Ok(()),
    };
    journal::in_place_only(reason).map_err(|error| failure(&error))
}

fn failure(error: &io::Error) -> RequestError {
    let errno = error.raw_os_error().unwrap_or_else(|| Errno::IO.raw_os_error());
    RequestError { errno, reason: String::new() }
}

/// The outcome of a request for the prelude: `{ value }` or `{ errno, reason }`.
fn outcome<'js>(
    ctx: &Ctx<'js>,
    result: std::result::Result<Value<'js>, RequestError>,
) -> Result<Object<'js>> {
    let outcome = Object::new_proto(ctx.clone(), None)?;
    match result {
        Ok(value) => outcome.set("value", value)?,
        Err(RequestError { errno, reason }) => {
            outcome.set("errno", errno)?;
            outcome.set("reason", reason)?;
        }
    }
    Ok(outcome)
}

fn open(folder: u8, path: &str, flags: OFlags) -> std::result::Result<File, RequestError> {
    let target = FolderPath { folder, path: path.as_bytes() };
    let request = FileRequest::Open { target, flags: flags.bits(), mode: FILE_MODE };
    let opened = ask(request, |_, file, opened: &mut Option<OwnedFd>| {
        *opened = file;
        opened.is_some()
    })?;
    opened.map(File::from).ok_or_else(|| Errno::IO.into())
}

/// A file of at most `limit` bytes, as text in UTF-8 or as bytes.
fn read<'js>(
    ctx: Ctx<'js>,
    folder: u8,
    path: String,
    limit: u32,
    is_text: bool,
) -> Result<Object<'js>> {
    let bytes = open(folder, &path, OFlags::RDONLY | OFlags::CLOEXEC).and_then(|file| {
        let limit = u64::from(limit);
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failure(&error))?;
        match u64::try_from(bytes.len()).is_ok_and(|length| length <= limit) {
            true => Ok(bytes),
            false => Err(Errno::FBIG.into()),
        }
    });
    let value = match bytes {
        Ok(bytes) if is_text => Ok(lossy(&ctx, &bytes)?.into_value()),
        Ok(bytes) => Ok(TypedArray::new(ctx.clone(), bytes)?.into_value()),
        Err(error) => Err(error),
    };
    outcome(&ctx, value)
}

/// The text of bytes in UTF-8; what is not valid is replaced.
fn lossy<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<JsString<'js>> {
    JsString::from_str(ctx.clone(), &String::from_utf8_lossy(bytes))
}

/// The text in UTF-8 of bytes that the prelude passes as a string.
fn text<'js>(ctx: Ctx<'js>, binary: String) -> Result<JsString<'js>> {
    lossy(&ctx, &bytes_of(&binary))
}

/// The bytes of a string that has a character for each of them.
fn bytes_of(binary: &str) -> Vec<u8> {
    binary.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect()
}

/// Writes a file: `how` is `write`, `append` or `create`, which fails if the file exists.
fn write<'js>(
    ctx: Ctx<'js>,
    folder: u8,
    path: String,
    text: String,
    is_binary: bool,
    how: String,
) -> Result<Object<'js>> {
    let more = match how.as_str() {
        "append" => OFlags::APPEND,
        "create" => OFlags::EXCL,
        _ => OFlags::TRUNC,
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC | more;
    let bytes = if is_binary { bytes_of(&text) } else { text.into_bytes() };
    let written = before_change(folder)
        .and_then(|()| open(folder, &path, flags))
        .and_then(|mut file| file.write_all(&bytes).map_err(|error| failure(&error)));
    outcome(&ctx, written.map(|()| Value::new_undefined(ctx.clone())))
}

/// The mode, the size and the times of access, change and status change in milliseconds.
fn status(ctx: Ctx<'_>, folder: u8, path: String, follow: bool) -> Result<Object<'_>> {
    let request =
        FileRequest::Status { target: FolderPath { folder, path: path.as_bytes() }, follow };
    let numbers = ask(request, |answer, _, taken: &mut FileStatus| match answer {
        FileAnswer::Status(numbers) => {
            *taken = numbers;
            true
        }
        _ => false,
    });
    let value = match numbers {
        Ok([mode, _, _, _, size, accessed, modified, changed, ..]) => {
            let parts = Array::new(ctx.clone())?;
            let milliseconds = |nanoseconds: i64| nanoseconds / 1_000_000;
            let numbers =
                [mode, size, milliseconds(accessed), milliseconds(modified), milliseconds(changed)];
            for (index, number) in numbers.into_iter().enumerate() {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "no file is that large or that old"
                )]
                parts.set(index, number as f64)?;
            }
            Ok(parts.into_value())
        }
        Err(error) => Err(error),
    };
    outcome(&ctx, value)
}

/// The names of a directory's entries, each followed by its file type bits.
fn list(ctx: Ctx<'_>, folder: u8, path: String) -> Result<Object<'_>> {
    type Listed = Vec<(String, u32)>;
    let request = FileRequest::List { target: FolderPath { folder, path: path.as_bytes() } };
    let listed = ask(request, |answer, _, taken: &mut Listed| match answer {
        FileAnswer::Entries { names: encoded, .. } => {
            let entries = decode_entries(encoded);
            taken
                .extend(entries.map(|it| (String::from_utf8_lossy(it.name).into_owned(), it.kind)));
            true
        }
        _ => false,
    });
    let value = match listed {
        Ok(entries) => {
            let flat = Array::new(ctx.clone())?;
            for (index, (name, kind)) in entries.into_iter().enumerate() {
                flat.set(2 * index, name)?;
                flat.set(2 * index + 1, kind)?;
            }
            Ok(flat.into_value())
        }
        Err(error) => Err(error),
    };
    outcome(&ctx, value)
}

/// Changes a folder: `what` is `mkdir`, `unlink` or `rmdir`.
fn change(ctx: Ctx<'_>, what: String, folder: u8, path: String) -> Result<Object<'_>> {
    let target = FolderPath { folder, path: path.as_bytes() };
    let request = match what.as_str() {
        "mkdir" => FileRequest::MakeDirectory { target, mode: DIRECTORY_MODE },
        "rmdir" => FileRequest::RemoveDirectory { target },
        _ => FileRequest::RemoveFile { target },
    };
    done(&ctx, folder, request)
}

fn rename(
    ctx: Ctx<'_>,
    folder: u8,
    path: String,
    new_folder: u8,
    new_path: String,
) -> Result<Object<'_>> {
    let from = FolderPath { folder, path: path.as_bytes() };
    let to = FolderPath { folder: new_folder, path: new_path.as_bytes() };
    done(&ctx, folder, FileRequest::Rename { from, to })
}

fn done<'js>(ctx: &Ctx<'js>, folder: u8, request: FileRequest<'_>) -> Result<Object<'js>> {
    let done = before_change(folder)
        .and_then(|()| ask(request, |answer, _, (): &mut ()| answer == FileAnswer::Done));
    outcome(ctx, done.map(|()| Value::new_undefined(ctx.clone())))
}
