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

    use crate::cell::Visible;
    use crate::files::channel::{Asker, Failed};
    use crate::files::frames::{Answer, Numbers, Place, Request, names};

    static FOLDERS: OnceLock<Vec<Visible>> = OnceLock::new();
    static ASKER: OnceLock<Asker> = OnceLock::new();

    /// Sets the folders that the programs of this process will have.
    pub(in super::super) fn configure(folders: Vec<Visible>) {
        // A process is configured once, before any program runs in it.
        _ = FOLDERS.set(folders);
    }

    /// Sets the socket for requests, once in the life of a worker.
    pub(in super::super) fn attach(socket: OwnedFd) {
        _ = ASKER.set(Asker::new(socket));
    }

    /// The socket for requests, if there is one.
    pub(in super::super) fn descriptor() -> Option<BorrowedFd<'static>> {
        ASKER.get().map(Asker::descriptor)
    }

    /// The folders that programs may use: the path of each as programs see it, and its number.
    #[pyfunction]
    fn folders(vm: &VirtualMachine) -> Vec<PyObjectRef> {
        let folder = |folder: &Visible| {
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

    /// Sends a request; other threads of the program continue meanwhile.
    fn ask<T: Default>(
        request: Request<'_>,
        vm: &VirtualMachine,
        take: impl Fn(Answer<'_>, Option<OwnedFd>, &mut T) -> bool,
    ) -> PyResult<T> {
        let mut taken = T::default();
        let asked = vm.allow_threads(|| {
            let asker = ASKER.get().ok_or(Errno::NOENT)?;
            asker.ask(request, |answer, file| {
                let is_unfinished = matches!(answer, Answer::Names { last: false, .. });
                match take(answer, file, &mut taken) {
                    true => Ok(is_unfinished.then_some(Request::ListMore)),
                    // The gateway never answers this request in this way.
                    false => Err(Errno::IO.into()),
                }
            })
        });
        asked.map(|()| taken).map_err(|failed| exception(failed, vm))
    }

    fn exception(failed: Failed, vm: &VirtualMachine) -> PyBaseExceptionRef {
        vm.new_errno_error(failed.errno, failed.reason).upcast()
    }

    fn done(request: Request<'_>, vm: &VirtualMachine) -> PyResult<()> {
        ask(request, vm, |answer, _, (): &mut ()| answer == Answer::Done)
    }

    fn path(request: Request<'_>, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        ask(request, vm, |answer, _, taken: &mut Vec<u8>| match answer {
            Answer::Path(path) => {
                path.clone_into(taken);
                true
            }
            _ => false,
        })
    }

    fn place(folder: u8, path: &PyBytesRef) -> Place<'_> {
        Place { folder, path: path.as_bytes() }
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
        let request = Request::Open { place: place(folder, &path), flags, mode };
        let opened = ask(request, vm, |_, file, opened: &mut Option<OwnedFd>| {
            *opened = file;
            opened.is_some()
        })?;
        opened.ok_or_else(|| exception(Errno::IO.into(), vm))
    }

    /// The status of a file.
    #[pyfunction]
    fn status(folder: u8, path: PyBytesRef, follow: bool, vm: &VirtualMachine) -> PyResult {
        let request = Request::Status { place: place(folder, &path), follow };
        let numbers = ask(request, vm, |answer, _, taken: &mut Numbers| match answer {
            Answer::Status(numbers) => {
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
        let request = Request::List { place: place(folder, &path) };
        type Listed = Vec<(Vec<u8>, u32, u64)>;
        let listed = ask(request, vm, |answer, _, taken: &mut Listed| match answer {
            Answer::Names { names: told, .. } => {
                taken.extend(names(told).map(|it| (it.name.to_vec(), it.kind, it.inode)));
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
        self::path(Request::ReadLink { place: place(folder, &path) }, vm)
    }

    /// The real path of a directory, relative to its folder.
    #[pyfunction]
    fn enter(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<Vec<u8>> {
        self::path(Request::Enter { place: place(folder, &path) }, vm)
    }

    /// Whether a file can be accessed, with the bits of `access`.
    #[pyfunction]
    fn access(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(Request::Access { place: place(folder, &path), mode }, vm)
    }

    /// Creates a directory.
    #[pyfunction]
    fn mkdir(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(Request::MakeDirectory { place: place(folder, &path), mode }, vm)
    }

    /// Removes a file or link.
    #[pyfunction]
    fn remove(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<()> {
        done(Request::RemoveFile { place: place(folder, &path) }, vm)
    }

    /// Removes an empty directory.
    #[pyfunction]
    fn rmdir(folder: u8, path: PyBytesRef, vm: &VirtualMachine) -> PyResult<()> {
        done(Request::RemoveDirectory { place: place(folder, &path) }, vm)
    }

    /// Sets the permissions of a file or directory.
    #[pyfunction]
    fn set_mode(folder: u8, path: PyBytesRef, mode: u32, vm: &VirtualMachine) -> PyResult<()> {
        done(Request::SetMode { place: place(folder, &path), mode }, vm)
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
        done(Request::SetTimes { place: place(folder, &path), times }, vm)
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
        let (from, to) = (place(folder, &path), place(new_folder, &new_path));
        done(Request::Rename { from, to }, vm)
    }
}
