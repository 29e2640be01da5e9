//! File access as a native module: each function sends one request to the gateway. `files.py`
//! implements Python's file functions with it.

pub(super) use native::{attach, configure, descriptor, module_def};

#[rustpython_vm::pymodule(name = "_onecall_folders")]
mod native {
    use std::os::fd::{BorrowedFd, OwnedFd};
    use std::sync::OnceLock;

    use rustix::io::Errno;
    use rustpython_vm::builtins::{PyBaseExceptionRef, PyBytesRef};
    use rustpython_vm::function::OptionalArg;
    use rustpython_vm::{PyObjectRef, PyResult, VirtualMachine};

    use crate::files::channel::{FileClient, RequestError};
    use crate::files::packets::{FileAnswer, FileRequest, FileStatus, FolderPath, decode_entries};
    use crate::sandbox_plan::VisibleFolder;

    static FOLDERS: OnceLock<Vec<VisibleFolder>> = OnceLock::new();
    static CONFINES_EFFECTS: OnceLock<bool> = OnceLock::new();
    static FILE_CLIENT: OnceLock<FileClient> = OnceLock::new();

    /// Sets the folders that the programs of this process will have, and whether the sandbox keeps them from
    /// changing anything else.
    pub(in super::super) fn configure(folders: Vec<VisibleFolder>, confines_effects: bool) {
        // A process is configured once, before any program runs in it.
        _ = FOLDERS.set(folders);
        _ = CONFINES_EFFECTS.set(confines_effects);
    }

    /// Sets the socket for requests, once in the life of a worker.
    pub(in super::super) fn attach(socket: OwnedFd) {
        _ = FILE_CLIENT.set(FileClient::new(socket));
    }

    /// The socket for requests, if there is one.
    pub(in super::super) fn descriptor() -> Option<BorrowedFd<'static>> {
        FILE_CLIENT.get().map(FileClient::descriptor)
    }

    /// The folders that programs may use: the path of each as programs see it, and its number.
    #[pyfunction]
    fn folders(vm: &VirtualMachine) -> Vec<PyObjectRef> {
        let folder = |folder: &VisibleFolder| {
            let path = vm.ctx.new_str(folder.path.as_str()).into();
            vm.ctx.new_tuple(vec![path, vm.ctx.new_int(folder.number).into()]).into()
        };
        FOLDERS.get().into_iter().flatten().map(folder).collect()
    }

    /// The number of the scratch folder, for programs that have one.
    #[pyfunction]
    fn scratch() -> u8 {
        crate::files::SCRATCH
    }

    /// Whether the sandbox keeps programs from changing files, other processes and the network.
    #[pyfunction]
    fn confines_effects() -> bool {
        CONFINES_EFFECTS.get().is_some_and(|confines| *confines)
    }

    /// Sends a request; other threads of the program continue meanwhile.
    fn ask<T: Default>(
        request: FileRequest<'_>,
        vm: &VirtualMachine,
        take: impl Fn(FileAnswer<'_>, Option<OwnedFd>, &mut T) -> bool,
    ) -> PyResult<T> {
        let mut taken = T::default();
        let asked = vm.allow_threads(|| {
            let client = FILE_CLIENT.get().ok_or(Errno::NOENT)?;
            client.request(request, |answer, file| {
                let is_unfinished = matches!(answer, FileAnswer::Entries { last: false, .. });
                match take(answer, file, &mut taken) {
                    true => Ok(is_unfinished.then_some(FileRequest::ListMore)),
                    // The gateway never answers this request in this way.
                    false => Err(Errno::IO.into()),
                }
            })
        });
        asked.map(|()| taken).map_err(|failed| exception(failed, vm))
    }

    fn exception(failed: RequestError, vm: &VirtualMachine) -> PyBaseExceptionRef {
        vm.new_errno_error(failed.errno, failed.reason).upcast()
    }

    fn done(request: FileRequest<'_>, vm: &VirtualMachine) -> PyResult<()> {
        ask(request, vm, |answer, _, (): &mut ()| answer == FileAnswer::Done)
    }

    fn path(request: FileRequest<'_>, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        ask(request, vm, |answer, _, taken: &mut Vec<u8>| match answer {
            FileAnswer::Path(path) => {
                path.clone_into(taken);
                true
            }
            _ => false,
        })
    }

    fn target(folder: u8, path: &PyBytesRef) -> FolderPath<'_> {
        FolderPath { folder, path: path.as_bytes() }
    }

    /// Opens a regular file and returns its descriptor.
    #[pyfunction]
    fn open(
        folder: u8,
        path: PyBytesRef,
        flags: u32,
        mode: u32,
        vm: &VirtualMachine,
    ) -> PyResult<OwnedFd> {
        let request = FileRequest::Open { target: target(folder, &path), flags, mode };
        let opened = ask(request, vm, |_, file, opened: &mut Option<OwnedFd>| {
            *opened = file;
            opened.is_some()
        })?;
        opened.ok_or_else(|| exception(Errno::IO.into(), vm))
    }

    /// The status of a file.
    #[pyfunction]
    fn status(folder: u8, path: PyBytesRef, follow: bool, vm: &VirtualMachine) -> PyResult {
        let request = FileRequest::Status { target: target(folder, &path), follow };
        let numbers = ask(request, vm, |answer, _, taken: &mut FileStatus| match answer {
            FileAnswer::Status(numbers) => {
                *taken = numbers;
                true
            }
            _ => false,
        })?;
        let numbers = numbers.map(|number| vm.ctx.new_int(number).into());
        Ok(vm.ctx.new_tuple(numbers.to_vec()).into())
    }

    /// The entries of a directory, each with its file type bits and its inode.
    #[pyfunction]
    fn list(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<Vec<PyObjectRef>> {
        let request = FileRequest::List { target: target(folder, &path) };
        type Listed = Vec<(Vec<u8>, u32, u64)>;
        let listed = ask(request, vm, |answer, _, taken: &mut Listed| match answer {
            FileAnswer::Entries { names: encoded, .. } => {
                taken.extend(
                    decode_entries(encoded).map(|it| (it.name.to_vec(), it.kind, it.inode)),
                );
                true
            }
            _ => false,
        })?;
        let entry = |(name, kind, inode)| {
            let context = &vm.ctx;
            let name = context.new_bytes(name).into();
            let numbers = [context.new_int(kind).into(), context.new_int(inode).into()];
            context.new_tuple([vec![name], numbers.to_vec()].concat()).into()
        };
        Ok(listed.into_iter().map(entry).collect())
    }

    /// The target of a symbolic link.
    #[pyfunction]
    fn read_link(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        self::path(FileRequest::ReadLink { target: target(folder, &path) }, vm)
    }

    /// The real path of a directory, relative to its folder.
    #[pyfunction]
    fn enter(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        self::path(FileRequest::Enter { target: target(folder, &path) }, vm)
    }

    /// Whether a file can be accessed, with the bits of `access`.
    #[pyfunction]
    fn access(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(FileRequest::Access { target: target(folder, &path), mode }, vm)
    }

    /// Creates a directory.
    #[pyfunction]
    fn mkdir(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(FileRequest::MakeDirectory { target: target(folder, &path), mode }, vm)
    }

    /// Removes a file or link.
    #[pyfunction]
    fn remove(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<()> {
        done(FileRequest::RemoveFile { target: target(folder, &path) }, vm)
    }

    /// Removes an empty directory.
    #[pyfunction]
    fn rmdir(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<()> {
        done(FileRequest::RemoveDirectory { target: target(folder, &path) }, vm)
    }

    /// Sets the permissions of a file or directory.
    #[pyfunction]
    fn set_mode(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(FileRequest::SetMode { target: target(folder, &path), mode }, vm)
    }

    /// Sets the times of access and of modification, or both to now.
    #[pyfunction]
    fn set_times(
        folder: u8,
        path: PyBytesRef,
        accessed: OptionalArg<i64>,
        changed: OptionalArg<i64>,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let times = accessed.into_option().zip(changed.into_option()).map(<[i64; 2]>::from);
        done(FileRequest::SetTimes { target: target(folder, &path), times }, vm)
    }

    /// Renames a file or directory.
    #[pyfunction]
    fn rename(
        folder: u8,
        path: PyBytesRef,
        new_folder: u8,
        new_path: PyBytesRef,
        vm: &VirtualMachine,
    ) -> PyResult<()> {
        let (from, to) = (target(folder, &path), target(new_folder, &new_path));
        done(FileRequest::Rename { from, to }, vm)
    }
}
