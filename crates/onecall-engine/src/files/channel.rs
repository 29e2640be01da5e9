//! The socket on which a worker asks for files. One packet is one request or one answer; an opened
//! file is attached to its answer as a descriptor.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Mutex, PoisonError};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, recv, recvmsg, send, sendmsg, sockopt,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::packets::{FileAnswer, FileRequest, MAX_ANSWER, MAX_REQUEST, MalformedPacket};
use crate::system;

/// The size of the send buffer for answers that a worker has not read; a correct worker has at most
/// one of them. The kernel limits the descriptors in transit for all programs together.
const SEND_BUFFER_SIZE: usize = MAX_ANSWER;

/// The gateway's end of the socket.
#[derive(Debug)]
pub(crate) struct FileChannel(UnixStream);

impl FileChannel {
    /// Creates a socket pair: the gateway's end, and the end for a worker that will be forked. Must
    /// be called inside a tokio runtime.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = system::packet_sockets()?;
        sockopt::set_socket_send_buffer_size(&ours, SEND_BUFFER_SIZE)?;
        let ours = std::os::unix::net::UnixStream::from(ours);
        ours.set_nonblocking(true)?;
        Ok((Self(UnixStream::from_std(ours)?), theirs))
    }

    /// The next packet; `None` if the worker has closed its end or the socket has failed.
    pub(crate) async fn receive(&self) -> Result<Option<Vec<u8>>, MalformedPacket> {
        let mut packet = vec![0; MAX_REQUEST];
        // `recv` takes no descriptors, so the kernel drops those that a worker attaches.
        let received = self.0.async_io(Interest::READABLE, || {
            Ok(recv(&self.0, packet.as_mut_slice(), RecvFlags::TRUNC)?.1)
        });
        match received.await {
            Ok(0) | Err(_) => Ok(None),
            Ok(length) if length > MAX_REQUEST => Err(MalformedPacket),
            Ok(length) => {
                packet.truncate(length);
                Ok(Some(packet))
            }
        }
    }

    /// Sends an answer, with the opened file if there is one.
    pub(crate) async fn send(&self, packet: &[u8], file: Option<&OwnedFd>) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, || send_packet(&self.0, packet, file)).await
    }
}

/// The worker's end of the socket. Requests of several threads are made one after the other.
pub(crate) struct FileClient {
    socket: OwnedFd,
    request_lock: Mutex<()>,
}

/// The error of a request.
#[derive(Debug)]
pub(crate) struct RequestError {
    pub(crate) errno: i32,
    /// A text that replaces the meaning of the error number; may be empty.
    pub(crate) reason: String,
}

impl From<Errno> for RequestError {
    fn from(errno: Errno) -> Self {
        Self { errno: errno.raw_os_error(), reason: String::new() }
    }
}

impl FileClient {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, request_lock: Mutex::new(()) }
    }

    /// The descriptor, which a worker has to keep in its sandbox.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends a request and passes the answer, with an attached file, to `take`. If `take` returns
    /// another request, that is sent as well, until it returns none.
    pub(crate) fn request<'r>(
        &self,
        request: FileRequest<'r>,
        mut take: impl FnMut(
            FileAnswer<'_>,
            Option<OwnedFd>,
        ) -> Result<Option<FileRequest<'r>>, RequestError>,
    ) -> Result<(), RequestError> {
        let _guard = self.request_lock.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Some(request);
        while let Some(request) = next {
            let mut packet = [0; MAX_ANSWER];
            retry(|| send(&self.socket, &request.encode(), system::SEND_FLAGS))?;
            let (length, file) = retry(|| receive(&self.socket, &mut packet))?;
            let packet = packet.get(..length).unwrap_or_default();
            next = match FileAnswer::decode(packet).map_err(|MalformedPacket| Errno::IO)? {
                FileAnswer::Failed { errno, reason } => {
                    return Err(RequestError { errno, reason: reason.to_owned() });
                }
                answer => take(answer, file)?,
            };
        }
        Ok(())
    }
}

/// Sends a single answer on a socket that is used once, with the opened file if there is one.
pub(crate) fn send_once(
    socket: &OwnedFd,
    answer: FileAnswer<'_>,
    file: Option<&OwnedFd>,
) -> io::Result<()> {
    send_packet(socket, &answer.encode(), file)
}

fn send_packet(socket: impl AsFd, packet: &[u8], file: Option<&OwnedFd>) -> io::Result<()> {
    let files: Vec<_> = file.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() {
        attached.push(SendAncillaryMessage::ScmRights(&files));
    }
    sendmsg(socket, &[IoSlice::new(packet)], &mut attached, system::SEND_FLAGS)?;
    Ok(())
}

/// Waits for an answer from [`send_once`], and takes the file that is attached.
pub(crate) fn receive_once(socket: &OwnedFd) -> Result<OwnedFd, RequestError> {
    let mut packet = [0; MAX_ANSWER];
    let (length, file) = retry(|| receive(socket, &mut packet))?;
    let packet = packet.get(..length).unwrap_or_default();
    match FileAnswer::decode(packet).map_err(|MalformedPacket| Errno::IO)? {
        FileAnswer::Failed { errno, reason } => {
            Err(RequestError { errno, reason: reason.to_owned() })
        }
        _ => file.ok_or_else(|| Errno::IO.into()),
    }
}

fn receive(socket: &OwnedFd, packet: &mut [u8]) -> Result<(usize, Option<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(packet)];
    let received = recvmsg(socket, &mut parts, &mut attached, system::RECEIVE_FLAGS)?;
    if received.flags.contains(ReturnFlags::CTRUNC) {
        // The kernel dropped the descriptor: the process has reached its limit of open files.
        return Err(Errno::MFILE);
    }
    let file = attached.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    match received.bytes {
        0 => Err(Errno::IO),
        length => Ok((length, file)),
    }
}

/// Repeats a system call that was interrupted by a signal.
fn retry<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match attempt() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
