//! The packets by which a worker of the embedded Python asks the gateway for files, and the
//! answers.
//!
//! A worker waits for the answer to each request before it sends the next. Paths are bytes,
//! relative to one of the folders that its programs may use.

use thiserror::Error;

/// Longest path in bytes; the limit of the kernel.
pub(crate) const MAX_PATH: usize = 4095;

/// Size of the longest request: a renaming, with two paths.
pub(crate) const MAX_REQUEST: usize = 16 + 2 * (MAX_PATH + 3);

/// Size of the longest answer.
pub(crate) const MAX_ANSWER: usize = MAX_PATH + 64;

/// The status of a file: mode, inode, device, links, size, then the times of access, modification
/// and status change in nanoseconds, blocks and block size.
pub(crate) type FileStatus = [i64; 10];

/// A path in one of the folders, which is given by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderPath<'a> {
    pub(crate) folder: u8,
    pub(crate) path: &'a [u8],
}

/// A request of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileRequest<'a> {
    /// Open a regular file, with flags and mode as `open` takes them.
    Open { target: FolderPath<'a>, flags: u32, mode: u32 },
    /// The status of a file, or of the link itself if `follow` is false.
    Status { target: FolderPath<'a>, follow: bool },
    /// Whether access is possible, with the bits of `access`.
    Access { target: FolderPath<'a>, mode: u32 },
    /// The target of a symbolic link.
    ReadLink { target: FolderPath<'a> },
    /// The real path of a directory, relative to its folder.
    Enter { target: FolderPath<'a> },
    /// The first entries of a directory.
    List { target: FolderPath<'a> },
    /// More entries of the directory of the last `List`.
    ListMore,
    /// Create a directory.
    MakeDirectory { target: FolderPath<'a>, mode: u32 },
    /// Remove a file or link.
    RemoveFile { target: FolderPath<'a> },
    /// Remove an empty directory.
    RemoveDirectory { target: FolderPath<'a> },
    /// Rename or move something.
    Rename { from: FolderPath<'a>, to: FolderPath<'a> },
    /// Set the permissions of a file or directory.
    SetMode { target: FolderPath<'a>, mode: u32 },
    /// Set the times of access and of modification, in nanoseconds, or both to now.
    SetTimes { target: FolderPath<'a>, times: Option<[i64; 2]> },
}

/// An answer of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileAnswer<'a> {
    /// The request succeeded; an opened file is attached as a descriptor.
    Done,
    /// The request failed with an error number, and a reason if the number does not explain it.
    Failed { errno: i32, reason: &'a str },
    /// The status of a file.
    Status(FileStatus),
    /// A path.
    Path(&'a [u8]),
    /// Entries of a directory, see [`decode_entries`], and whether these are the last ones.
    Entries { last: bool, names: &'a [u8] },
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryEntry<'a> {
    pub(crate) name: &'a [u8],
    /// The file type bits of a mode; zero if the file system does not know them.
    pub(crate) kind: u32,
    pub(crate) inode: u64,
}

/// A packet that violates the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a request for a file that cannot be read")]
pub(crate) struct MalformedPacket;

const OPEN: u8 = b'o';
const STATUS: u8 = b's';
const ACCESS: u8 = b'a';
const READ_LINK: u8 = b'l';
const ENTER: u8 = b'e';
const LIST: u8 = b'd';
const LIST_MORE: u8 = b'm';
const MAKE_DIRECTORY: u8 = b'k';
const REMOVE_FILE: u8 = b'r';
const REMOVE_DIRECTORY: u8 = b'x';
const RENAME: u8 = b'n';
const SET_MODE: u8 = b'p';
const SET_TIMES: u8 = b't';
const SET_TIMES_NOW: u8 = b'w';
const DONE: u8 = b'D';
const FAILED: u8 = b'F';
const PATH: u8 = b'P';
const ENTRIES: u8 = b'N';
const STATUS_NUMBERS: u8 = b'S';

impl<'a> FileRequest<'a> {
    /// Decodes a packet.
    pub(crate) fn decode(packet: &'a [u8]) -> Result<Self, MalformedPacket> {
        let mut rest = packet;
        let [kind] = take(&mut rest)?;
        let request = match kind {
            OPEN => Self::Open {
                flags: number(&mut rest)?,
                mode: number(&mut rest)?,
                target: decode_target(&mut rest)?,
            },
            STATUS => {
                Self::Status { follow: number(&mut rest)? != 0, target: decode_target(&mut rest)? }
            }
            ACCESS => Self::Access { mode: number(&mut rest)?, target: decode_target(&mut rest)? },
            READ_LINK => Self::ReadLink { target: decode_target(&mut rest)? },
            ENTER => Self::Enter { target: decode_target(&mut rest)? },
            LIST => Self::List { target: decode_target(&mut rest)? },
            LIST_MORE => Self::ListMore,
            MAKE_DIRECTORY => {
                Self::MakeDirectory { mode: number(&mut rest)?, target: decode_target(&mut rest)? }
            }
            REMOVE_FILE => Self::RemoveFile { target: decode_target(&mut rest)? },
            REMOVE_DIRECTORY => Self::RemoveDirectory { target: decode_target(&mut rest)? },
            RENAME => {
                Self::Rename { from: decode_target(&mut rest)?, to: decode_target(&mut rest)? }
            }
            SET_MODE => {
                Self::SetMode { mode: number(&mut rest)?, target: decode_target(&mut rest)? }
            }
            SET_TIMES => {
                let times = [take(&mut rest)?, take(&mut rest)?].map(i64::from_le_bytes);
                Self::SetTimes { times: Some(times), target: decode_target(&mut rest)? }
            }
            SET_TIMES_NOW => Self::SetTimes { times: None, target: decode_target(&mut rest)? },
            _ => return Err(MalformedPacket),
        };
        if rest.is_empty() { Ok(request) } else { Err(MalformedPacket) }
    }

    /// Whether the request is about the folder of this number.
    pub(crate) fn concerns(&self, folder: u8) -> bool {
        match *self {
            Self::Open { target, .. }
            | Self::Status { target, .. }
            | Self::Access { target, .. }
            | Self::ReadLink { target }
            | Self::Enter { target }
            | Self::List { target }
            | Self::MakeDirectory { target, .. }
            | Self::RemoveFile { target }
            | Self::RemoveDirectory { target }
            | Self::SetMode { target, .. }
            | Self::SetTimes { target, .. } => target.folder == folder,
            Self::Rename { from, to } => from.folder == folder || to.folder == folder,
            Self::ListMore => false,
        }
    }

    /// Encodes a packet.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match *self {
            Self::Open { target, flags, mode } => {
                packet(OPEN, &[flags, mode].map(u32::to_le_bytes), &[target])
            }
            Self::Status { target, follow } => {
                packet(STATUS, &[u32::from(follow).to_le_bytes()], &[target])
            }
            Self::Access { target, mode } => packet(ACCESS, &[mode.to_le_bytes()], &[target]),
            Self::ReadLink { target } => packet(READ_LINK, NO_NUMBERS, &[target]),
            Self::Enter { target } => packet(ENTER, NO_NUMBERS, &[target]),
            Self::List { target } => packet(LIST, NO_NUMBERS, &[target]),
            Self::ListMore => packet(LIST_MORE, NO_NUMBERS, &[]),
            Self::MakeDirectory { target, mode } => {
                packet(MAKE_DIRECTORY, &[mode.to_le_bytes()], &[target])
            }
            Self::RemoveFile { target } => packet(REMOVE_FILE, NO_NUMBERS, &[target]),
            Self::RemoveDirectory { target } => packet(REMOVE_DIRECTORY, NO_NUMBERS, &[target]),
            Self::Rename { from, to } => packet(RENAME, NO_NUMBERS, &[from, to]),
            Self::SetMode { target, mode } => packet(SET_MODE, &[mode.to_le_bytes()], &[target]),
            Self::SetTimes { target, times: Some(times) } => {
                packet(SET_TIMES, &times.map(i64::to_le_bytes), &[target])
            }
            Self::SetTimes { target, times: None } => packet(SET_TIMES_NOW, NO_NUMBERS, &[target]),
        }
    }
}

impl<'a> FileAnswer<'a> {
    /// Decodes a packet.
    pub(crate) fn decode(packet: &'a [u8]) -> Result<Self, MalformedPacket> {
        let mut rest = packet;
        let [kind] = take(&mut rest)?;
        Ok(match kind {
            DONE => Self::Done,
            FAILED => {
                let errno = number(&mut rest)?.cast_signed();
                Self::Failed { errno, reason: str::from_utf8(rest).map_err(|_| MalformedPacket)? }
            }
            STATUS_NUMBERS => {
                let mut numbers = FileStatus::default();
                for number in &mut numbers {
                    *number = i64::from_le_bytes(take(&mut rest)?);
                }
                Self::Status(numbers)
            }
            PATH => Self::Path(rest),
            ENTRIES => Self::Entries { last: number(&mut rest)? != 0, names: rest },
            _ => return Err(MalformedPacket),
        })
    }

    /// Encodes a packet.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Done => vec![DONE],
            Self::Failed { errno, reason } => {
                [&[FAILED][..], &errno.to_le_bytes(), reason.as_bytes()].concat()
            }
            Self::Status(numbers) => {
                [&[STATUS_NUMBERS][..], numbers.map(i64::to_le_bytes).as_flattened()].concat()
            }
            Self::Path(path) => [&[PATH][..], path].concat(),
            Self::Entries { last, names } => {
                [&[ENTRIES][..], &u32::from(*last).to_le_bytes(), names].concat()
            }
        }
    }
}

impl DirectoryEntry<'_> {
    /// Size of the longest encoded entry.
    pub(crate) const LONGEST: usize = 14 + 255;

    /// Appends this entry to the entries of an answer.
    pub(crate) fn encode(&self, names: &mut Vec<u8>) {
        names.extend(self.inode.to_le_bytes());
        names.extend(self.kind.to_le_bytes());
        push_bytes(names, self.name);
    }
}

/// The entries of an answer; stops at the first one that cannot be decoded.
pub(crate) fn decode_entries(mut rest: &[u8]) -> impl Iterator<Item = DirectoryEntry<'_>> {
    std::iter::from_fn(move || {
        let inode = u64::from_le_bytes(take(&mut rest).ok()?);
        let kind = number(&mut rest).ok()?;
        Some(DirectoryEntry { name: bytes(&mut rest).ok()?, kind, inode })
    })
}

const NO_NUMBERS: &[[u8; 0]] = &[];

fn packet<const N: usize>(kind: u8, numbers: &[[u8; N]], targets: &[FolderPath<'_>]) -> Vec<u8> {
    let mut packet = vec![kind];
    packet.extend(numbers.as_flattened());
    for target in targets {
        packet.push(target.folder);
        push_bytes(&mut packet, target.path);
    }
    packet
}

/// Appends bytes with their length. Bytes that exceed a 16-bit length are cut; they are still
/// longer than any valid path, so the receiver refuses them.
fn push_bytes(packet: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    packet.extend(length.to_le_bytes());
    packet.extend(bytes.get(..usize::from(length)).unwrap_or_default());
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], MalformedPacket> {
    let (taken, after) = rest.split_first_chunk().ok_or(MalformedPacket)?;
    *rest = after;
    Ok(*taken)
}

fn number(rest: &mut &[u8]) -> Result<u32, MalformedPacket> {
    take(rest).map(u32::from_le_bytes)
}

fn bytes<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], MalformedPacket> {
    let length = usize::from(u16::from_le_bytes(take(rest)?));
    let (taken, after) = rest.split_at_checked(length).ok_or(MalformedPacket)?;
    *rest = after;
    Ok(taken)
}

fn decode_target<'a>(rest: &mut &'a [u8]) -> Result<FolderPath<'a>, MalformedPacket> {
    let [folder] = take(rest)?;
    let path = bytes(rest)?;
    // A correct worker has raised a Python exception for both of these.
    if path.len() > MAX_PATH || path.contains(&0) {
        return Err(MalformedPacket);
    }
    Ok(FolderPath { folder, path })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn packets_survive_the_way() {
        let target = FolderPath { folder: 1, path: b"a/\xff" };
        for request in [
            FileRequest::Open { target, flags: 0o2101, mode: 0o600 },
            FileRequest::Status { target, follow: true },
            FileRequest::Access { target, mode: 4 },
            FileRequest::ReadLink { target },
            FileRequest::Enter { target },
            FileRequest::List { target },
            FileRequest::ListMore,
            FileRequest::MakeDirectory { target, mode: 0o777 },
            FileRequest::RemoveFile { target },
            FileRequest::RemoveDirectory { target },
            FileRequest::Rename { from: target, to: FolderPath { folder: 0, path: b"" } },
            FileRequest::SetMode { target, mode: 0o644 },
            FileRequest::SetTimes { target, times: Some([i64::MIN, 7]) },
            FileRequest::SetTimes { target, times: None },
        ] {
            let packet = request.encode();
            assert_eq!(FileRequest::decode(&packet), Ok(request));
            assert!(packet.len() <= MAX_REQUEST);
            for end in 0..packet.len() {
                assert_eq!(
                    FileRequest::decode(&packet[..end]),
                    Err(MalformedPacket),
                    "{request:?}"
                );
            }
        }
        let mut listed = Vec::new();
        let name = DirectoryEntry { name: b"\xff", kind: 0o100_000, inode: u64::MAX };
        name.encode(&mut listed);
        assert_eq!(decode_entries(&listed).collect::<Vec<_>>(), [name]);
        for answer in [
            FileAnswer::Done,
            FileAnswer::Failed { errno: 13, reason: "no" },
            FileAnswer::Status([1, -2, 3, 4, 5, 6, 7, 8, 9, i64::MAX]),
            FileAnswer::Path(b"x/\xfe"),
            FileAnswer::Entries { last: false, names: &listed },
        ] {
            let packet = answer.encode();
            assert_eq!(FileAnswer::decode(&packet), Ok(answer));
        }
    }

    #[test]
    fn paths_that_no_kernel_takes_are_refused() {
        for path in [vec![b'x'; MAX_PATH + 1], b"a\0b".to_vec()] {
            let request = FileRequest::Enter { target: FolderPath { folder: 0, path: &path } };
            let packet = request.encode();
            assert_eq!(FileRequest::decode(&packet), Err(MalformedPacket));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_a_request_or_an_error(
            kind in prop_oneof![Just(OPEN), Just(RENAME), Just(LIST), any::<u8>()],
            rest in vec(any::<u8>(), 0..60),
        ) {
            let bytes = [&[kind][..], &rest].concat();
            if let Ok(request) = FileRequest::decode(&bytes) {
                let again = request.encode();
                prop_assert_eq!(FileRequest::decode(&again), Ok(request));
            }
            let _ = FileAnswer::decode(&bytes);
            let _ = decode_entries(&bytes).count();
        }
    }
}
