//! The location of the files with the pinned tools of servers.

use std::path::{Path, PathBuf};

use onecall_core::{DigestBuilder, ServerName};

use crate::locate::Directories;
use crate::model::{StdioTransport, Transport};

impl Directories {
    /// The directory that contains a file for every pinned server.
    #[must_use]
    pub fn pins(&self) -> Option<PathBuf> {
        self.state.as_deref().map(|state| state.join("onecall").join("pins"))
    }
}

/// The file for one server. Its name depends on the server's name and its command or address, so
/// that another server of the same name has another file. The name is a digest, because arguments
/// and addresses may contain secrets.
pub(crate) fn pin_file(directory: &Path, name: &ServerName, transport: &Transport) -> PathBuf {
    let mut hasher = DigestBuilder::default();
    let mut add = |part: &str| hasher.add_part(part);
    add(name.as_str());
    match transport {
        Transport::Stdio(StdioTransport { command, args, .. }) => {
            add("command");
            add(command);
            args.iter().for_each(|argument| add(argument));
        }
        Transport::Auto(remote)
        | Transport::Either { http: remote, .. }
        | Transport::Http(remote)
        | Transport::Sse(remote) => {
            add("url");
            add(&remote.url);
        }
        Transport::Unresolved(_) => add("unresolved"),
    }
    directory.join(format!("{}.json", hasher.finish()))
}
