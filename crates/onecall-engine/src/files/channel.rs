//! The socket on which a worker asks for files: one packet is one request or one answer,
//! and an opened file is attached to its answer.

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

use super::frames::{Answer, MAX_ANSWER, MAX_REQUEST, Malformed, Request};
use crate::system;

/// Room for answers that a worker does not read; an honest one has one at most. Files on
/// their way are counted by the kernel, for all programs together.
const UNREAD: usize = MAX_ANSWER;

/// The gateway's end.
#[derive(Debug)]
pub(crate) struct Channel(UnixStream);

impl Channel {
    /// A new socket: the gateway's end and that of a worker to come. Must be called inside
    /// a tokio runtime.
    pub(crate) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = system::packet_sockets()?;
        sockopt::set_socket_send_buffer_size(&ours, UNREAD)?;
        let ours = std::os::unix::net::UnixStream::from(ours);
        ours.set_nonblocking(true)?;
        Ok((Self(UnixStream::from_std(ours)?), theirs))
    }

    /// The next packet; nothing if the worker has closed its end.
    pub(crate) async fn receive(&self) -> Result<Option<Vec<u8>>, Malformed> {
        let mut packet = vec![0; MAX_REQUEST];
        // Descriptors that a worker attaches are dropped by the kernel.
        let received = self.0.async_io(Interest::READABLE, || {
            Ok(recv(&self.0, packet.as_mut_slice(), RecvFlags::TRUNC)?.1)
        });
        match received.await {
            Ok(0) | Err(_) => Ok(None),
            Ok(length) if length > MAX_REQUEST => Err(Malformed),
            Ok(length) => {
                packet.truncate(length);
                Ok(Some(packet))
            }
        }
    }

    /// Sends an answer, with the file that was opened.
    pub(crate) async fn send(&self, packet: &[u8], file: Option<&OwnedFd>) -> io::Result<()> {
        self.0.async_io(Interest::WRITABLE, || send_packet(&self.0, packet, file)).await
    }
}

/// A worker's end. Threads of a program may ask at the same time; one waits for the other.
pub(crate) struct Asker {
    socket: OwnedFd,
    turn: Mutex<()>,
}

/// Why a worker has no answer.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) errno: i32,
    /// Said in the place of what the error number means; may be empty.
    pub(crate) reason: String,
}

impl From<Errno> for Failed {
    fn from(errno: Errno) -> Self {
        Self { errno: errno.raw_os_error(), reason: String::new() }
    }
}

impl Asker {
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self { socket, turn: Mutex::new(()) }
    }

    /// The descriptor that a worker cannot do without.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Asks for something, and hands the answer to `take`, with the file that came along.
    /// As long as that makes another request of it, asks for more.
    pub(crate) fn ask<'r>(
        &self,
        request: Request<'r>,
        mut take: impl FnMut(Answer<'_>, Option<OwnedFd>) -> Result<Option<Request<'r>>, Failed>,
    ) -> Result<(), Failed> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Some(request);
        while let Some(request) = next {
            let mut packet = [0; MAX_ANSWER];
            retry(|| send(&self.socket, &request.encode(), system::SEND))?;
            let (length, file) = retry(|| receive(&self.socket, &mut packet))?;
            let packet = packet.get(..length).unwrap_or_default();
            next = match Answer::decode(packet).map_err(|Malformed| Errno::IO)? {
                Answer::Failed { errno, reason } => {
                    return Err(Failed { errno, reason: reason.to_owned() });
                }
                answer => take(answer, file)?,
            };
        }
        Ok(())
    }
}

/// Sends an answer on a socket that is used once, with the file that was opened.
pub(crate) fn send_once(
    socket: &OwnedFd,
    answer: Answer<'_>,
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
    sendmsg(socket, &[IoSlice::new(packet)], &mut attached, system::SEND)?;
    Ok(())
}

/// Waits for such an answer, and takes the file that comes with it.
pub(crate) fn receive_once(socket: &OwnedFd) -> Result<OwnedFd, Failed> {
    let mut packet = [0; MAX_ANSWER];
    let (length, file) = retry(|| receive(socket, &mut packet))?;
    let packet = packet.get(..length).unwrap_or_default();
    match Answer::decode(packet).map_err(|Malformed| Errno::IO)? {
        Answer::Failed { errno, reason } => Err(Failed { errno, reason: reason.to_owned() }),
        _ => file.ok_or_else(|| Errno::IO.into()),
    }
}

fn receive(socket: &OwnedFd, packet: &mut [u8]) -> Result<(usize, Option<OwnedFd>), Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(packet)];
    let received = recvmsg(socket, &mut parts, &mut attached, system::RECEIVE)?;
    if received.flags.contains(ReturnFlags::CTRUNC) {
        // The program has as many files open as it may.
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

/// Signals are none of a request's business.
fn retry<T>(mut attempt: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match attempt() {
            Err(Errno::INTR) => {}
            done => return done,
        }
    }
}
