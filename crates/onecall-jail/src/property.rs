//! The properties that the sandbox guarantees, independent of the walls that hold them.
//!
//! Machines differ in the walls that can be built: containers often have no namespaces, and older
//! kernels have no landlock. A configuration demands properties, and most of them can be held by
//! more than one wall.

/// Something that the sandbox prevents a program from doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Read or write the contents of files that it was not given.
    Files,
    /// Learn which other files exist, how large they are or where links lead.
    Metadata,
    /// Reach a network, or a socket of another process.
    Network,
    /// See, signal or trace another process.
    Processes,
    /// Learn the names of the machine and its user, or the numbers of processes.
    Names,
    /// Gain a privilege, run another program, or make memory executable.
    Privileges,
    /// Find an environment variable or a descriptor of the gateway.
    Inheritance,
    /// Use more memory, time, threads, descriptors or disk than it may.
    Limits,
}

impl Property {
    /// Every property, in the order in which reports list them.
    pub const ALL: [Self; 8] = [
        Self::Files,
        Self::Metadata,
        Self::Network,
        Self::Processes,
        Self::Names,
        Self::Privileges,
        Self::Inheritance,
        Self::Limits,
    ];

    /// The properties that are demanded even in the mode `best-effort`.
    pub const MINIMUM: [Self; 3] = [Self::Files, Self::Network, Self::Processes];

    /// The name of the property in configurations and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Metadata => "metadata",
            Self::Network => "network",
            Self::Processes => "processes",
            Self::Names => "names",
            Self::Privileges => "privileges",
            Self::Inheritance => "inheritance",
            Self::Limits => "limits",
        }
    }

    /// The property with this name, if there is one.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|property| property.name() == name)
    }

    /// What a program could do without the property, as text after "keep programs from".
    #[must_use]
    pub const fn prevented_actions(self) -> &'static str {
        match self {
            Self::Files => "reading and writing files",
            Self::Metadata => "learning which files exist",
            Self::Network => "reaching a network",
            Self::Processes => "seeing and signalling other processes",
            Self::Names => "learning the names of this machine and its user",
            Self::Privileges => "gaining privileges",
            Self::Inheritance => "seeing what the gateway has open and in its environment",
            Self::Limits => "exceeding their limits",
        }
    }

    /// The groups of walls that hold this property. Any group is enough; all walls of a group are
    /// needed.
    pub(crate) const fn held_by(self, file_calls: FileCalls) -> &'static [&'static [&'static str]] {
        match (self, file_calls) {
            (Self::Files, FileCalls::Allowed) => &[&["empty root"], &["filesystem"]],
            (Self::Files, FileCalls::Refused) => {
                &[&["system calls"], &["empty root"], &["filesystem"]]
            }
            (Self::Metadata, FileCalls::Allowed) => &[&["empty root"]],
            (Self::Metadata, FileCalls::Refused) => &[&["system calls"], &["empty root"]],
            (Self::Network, _) => &[&["system calls"], &["namespaces"]],
            // Workers share their namespaces, so these do not separate workers from each other.
            (Self::Processes, _) => &[&["system calls"]],
            (Self::Names, _) => &[&["namespaces"], &["system calls"]],
            (Self::Privileges, _) => &[&["privileges", "system calls"]],
            (Self::Inheritance, _) => &[&["environment", "descriptors"]],
            (Self::Limits, _) => &[&["resources"]],
        }
    }

    /// The groups of walls that hold this property, given that the walls that `is_built` accepts are
    /// built.
    pub fn holders(
        self,
        file_calls: FileCalls,
        is_built: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &'static [&'static str]> {
        let groups = self.held_by(file_calls).iter().copied();
        groups.filter(move |group| group.iter().all(|wall| is_built(wall)))
    }
}

/// Whether the system call filter allows calls with paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileCalls {
    /// Such calls are allowed: other walls decide which files can be accessed.
    Allowed,
    /// Every call that takes a path is rejected.
    Refused,
}
