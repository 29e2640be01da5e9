//! A PostgreSQL server of the tests, from the binaries of the system. It listens on loopback only, and
//! ends with the process that started it.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

/// The folder that names the binaries of another version than the newest one that is installed.
const FOLDER_VARIABLE: &str = "ONECALL_TEST_POSTGRES";

/// Where packages of Linux distributions put the binaries, below a folder for each version.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/lib/postgresql", "/usr/pgsql"];

/// How long the server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// The password of the superuser, by which tests find it where it must not be.
pub const PASSWORD: &str = "hunter2-of-the-tests";

/// Runs the server given by its arguments until its standard input ends. If that ended without a word, the
/// tests are over or were killed, and the folder goes, too.
const KEEPER: &str = r#"
folder=$1; shift
"$@" & server=$!
echo $server
read -r word
kept=$?
kill -QUIT $server
wait $server
test $kept = 0 || rm -rf "$folder"
"#;

/// Makes a root and a certificate for this machine.
const MAKE_CERTIFICATE: &str = r#"
set -e
umask 077
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=root of the tests" \
  -addext "basicConstraints=critical,CA:TRUE" -keyout root.key -out root.crt
openssl req -newkey rsa:2048 -nodes -subj "/CN=localhost" -keyout server.key -out server.csr
printf "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth" > extensions
openssl x509 -req -in server.csr -CA root.crt -CAkey root.key -CAcreateserial -days 2 \
  -extfile extensions -out server.crt
chmod 644 root.crt
"#;

/// A server with an empty data folder. It is stopped, and its folder is removed, when this is dropped or
/// when its process ends.
pub struct PostgresServer {
    binaries: PathBuf,
    folder: PathBuf,
    port: u16,
    /// Settings in addition to those that every server of the tests has.
    options: Vec<String>,
    running: Option<RunningServer>,
}

/// The shell that runs the server, and the process of the server.
struct RunningServer {
    keeper: Child,
    server: Pid,
}

/// The folder with `initdb` and `postgres`; `None` if PostgreSQL is not installed.
#[must_use]
pub fn binaries() -> Option<PathBuf> {
    let named = env::var_os(FOLDER_VARIABLE).map(PathBuf::from);
    let installed = SYSTEM_FOLDERS.iter().flat_map(|folder| versions(Path::new(folder)));
    let path = env::var_os("PATH").unwrap_or_default();
    let in_path: Vec<PathBuf> = env::split_paths(&path).collect();
    let has_binaries = |folder: &PathBuf| {
        ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).is_file())
    };
    named.into_iter().chain(installed).chain(in_path).find(has_binaries)
}

/// The folders of the installed versions, newest first.
fn versions(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, path)| path).collect()
}

impl PostgresServer {
    /// Creates a server and starts it. If PostgreSQL is not installed, the result is `None`, and it is
    /// printed that the test is skipped.
    #[must_use]
    pub fn start_new() -> Option<Self> {
        let mut server = Self::create()?;
        server.start();
        Some(server)
    }

    /// Creates a server that has on disk what it commits, and starts it: what it costs can be measured. The
    /// result is `None` as with [`start_new`](Self::start_new).
    #[must_use]
    pub fn start_safe() -> Option<Self> {
        let mut server = Self::create()?;
        server.options = vec!["fsync=on".to_owned()];
        server.start();
        Some(server)
    }

    /// Creates a server with a certificate for `localhost` and starts it. The path is that of the root by
    /// which the certificate is trusted. The result is `None` as with [`start_new`](Self::start_new).
    #[must_use]
    pub fn start_encrypted() -> Option<(Self, PathBuf)> {
        let mut server = Self::create()?;
        let mut openssl = server.command(Path::new("/bin/sh"));
        let made = openssl.args(["-c", MAKE_CERTIFICATE]).output().expect("a shell");
        assert!(made.status.success(), "{made:?}");
        let path = |name: &str| server.folder.join(name).display().to_string();
        let (certificate, key) = (path("server.crt"), path("server.key"));
        server.options = vec![
            "ssl=on".to_owned(),
            format!("ssl_cert_file={certificate}"),
            format!("ssl_key_file={key}"),
        ];
        server.start();
        let root = server.folder.join("root.crt");
        Some((server, root))
    }

    /// Starts a standby that follows this server by streaming replication. It takes no writes until it is
    /// [promoted](Self::promote). A commit at this server waits from now on until the standby has it.
    ///
    /// # Panics
    /// If the standby cannot be made or does not follow.
    #[must_use]
    pub fn start_standby(&self) -> Self {
        let mut standby = Self::in_new_folder(self.binaries.clone());
        standby.give_folder_away();
        let mut command = standby.command(&self.binaries.join("pg_basebackup"));
        command.args(["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"]);
        command.args(["--no-sync", "--pgdata"]).arg(standby.data());
        command.args(["--dbname", &format!("{}&application_name=standby", self.url("postgres"))]);
        let copied = command.output().expect("pg_basebackup");
        assert!(copied.status.success(), "{copied:?}");
        standby.start();
        let postgres = self.url("postgres");
        self.execute(&postgres, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        self.execute(&postgres, "SELECT pg_reload_conf()");
        let deadline = Instant::now() + START_TIMEOUT;
        let state = "SELECT sync_state FROM pg_stat_replication";
        while self.execute(&postgres, state) != "sync" {
            assert!(Instant::now() < deadline, "the standby does not follow");
            thread::sleep(Duration::from_millis(50));
        }
        standby
    }

    /// Makes a standby the server that takes writes.
    pub fn promote(&self) {
        self.execute(&self.url("postgres"), "SELECT pg_promote()");
    }

    #[allow(clippy::print_stderr, reason = "a skipped test says so")]
    fn create() -> Option<Self> {
        let Some(binaries) = binaries() else {
            eprintln!("skipped: PostgreSQL is not installed, so nothing is tested with it");
            return None;
        };
        let server = Self::in_new_folder(binaries);
        server.create_data();
        Some(server)
    }

    /// A server without data.
    fn in_new_folder(binaries: PathBuf) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("onecall-postgres-{}-{number}", std::process::id());
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder).expect("the folder of the server");
        let (port, options, running) = (free_port(), Vec::new(), None);
        Self { binaries, folder, port, options, running }
    }

    /// Gives the folder to the user as which the server runs.
    fn give_folder_away(&self) {
        if let Some((user, group)) = unprivileged_user() {
            chown(&self.folder, Some(user), Some(group)).expect("the owner of the server's folder");
        }
    }

    /// Starts the server again after [`stop`](Self::stop).
    pub fn start(&mut self) {
        let mut keeper = self.command(Path::new("/bin/sh"));
        keeper.args(["-c", KEEPER, "sh"]).arg(&self.folder);
        keeper.arg(self.binaries.join("postgres")).arg("-D").arg(self.data());
        keeper.args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-k", ""]);
        // Tests survive without what protects from a power failure.
        keeper.args(["-c", "fsync=off", "-c", "max_connections=300"]);
        keeper.args(self.options.iter().flat_map(|option| ["-c", option]));
        let log = fs::File::create(self.folder.join("log")).expect("the log of the server");
        let mut keeper = keeper
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("a shell for the server");
        let mut line = String::new();
        let output = keeper.stdout.take().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("the id of the server");
        let server = line.trim().parse().ok().and_then(Pid::from_raw).expect("a process id");
        self.running = Some(RunningServer { keeper, server });
        let deadline = Instant::now() + START_TIMEOUT;
        while !self.psql("postgres", "SELECT 1").status.success() {
            let log = || fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {}", log());
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Stops the server at once, as a crash would. Its data stays.
    pub fn stop(&mut self) {
        self.end(b"stop\n");
    }

    fn end(&mut self, word: &[u8]) {
        let Some(RunningServer { mut keeper, .. }) = self.running.take() else { return };
        let mut input = keeper.stdin.take().expect("its input");
        input.write_all(word).expect("a word to the shell");
        drop(input);
        keeper.wait().expect("the end of the server");
    }

    /// Stops the server from answering: its processes stay, and so do its connections.
    pub fn freeze(&self) {
        self.signal_all(Signal::STOP);
    }

    /// Lets a frozen server go on.
    pub fn thaw(&self) {
        self.signal_all(Signal::CONT);
    }

    /// Creates an empty database, and returns its URL.
    #[must_use]
    pub fn create_database(&self) -> String {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("test_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let created = self.psql("postgres", &format!("CREATE DATABASE {name}"));
        assert!(created.status.success(), "{created:?}");
        self.url(&name)
    }

    /// Where the server listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Executes statements in the database with this URL, and returns the values that they print.
    pub fn execute(&self, url: &str, statements: &str) -> String {
        let database = url.rsplit('/').next().unwrap_or_default();
        let database = database.split('?').next().unwrap_or_default();
        let done = self.psql(database, statements);
        assert!(done.status.success(), "{statements}: {done:?}");
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://tests:{PASSWORD}@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn create_data(&self) {
        let password = self.folder.join("password");
        fs::write(&password, PASSWORD).expect("the password file");
        self.give_folder_away();
        if let Some((user, group)) = unprivileged_user() {
            chown(&password, Some(user), Some(group)).expect("the owner of the password file");
        }
        let mut command = self.command(&self.binaries.join("initdb"));
        command.args(["--username", "tests", "--auth", "scram-sha-256", "--encoding", "UTF8"]);
        command.args(["--locale", "C", "--no-sync", "--pwfile"]).arg(password);
        let done = command.arg(self.data()).output().expect("initdb");
        assert!(done.status.success(), "{done:?}");
    }

    /// A command that runs as another user than root, as which PostgreSQL refuses to run.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        if let Some((user, group)) = unprivileged_user() {
            command.uid(user).gid(group);
        }
        command.current_dir(&self.folder);
        command
    }

    fn psql(&self, database: &str, statements: &str) -> Output {
        let mut command = Command::new(self.binaries.join("psql"));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--command"]);
        command.args([statements, &self.url(database)]);
        command.env("PGCONNECT_TIMEOUT", "5").stdin(Stdio::null()).output().expect("psql")
    }

    /// Sends a signal to the server and all its processes.
    fn signal_all(&self, signal: Signal) {
        let Some(RunningServer { server, .. }) = &self.running else { return };
        let id = server.as_raw_nonzero();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_ascii_whitespace();
        let children = children.filter_map(|child| child.parse().ok().and_then(Pid::from_raw));
        for process in children.chain([*server]) {
            // A process of the server may just have ended.
            _ = kill_process(process, signal);
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.thaw();
        match self.running {
            Some(_) => self.end(b""),
            // The shell that removes the folder has ended with the server.
            None => drop(fs::remove_dir_all(&self.folder)),
        }
    }
}

/// The user and group as which the server runs if this process is root.
fn unprivileged_user() -> Option<(u32, u32)> {
    if !getuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody"))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.local_addr().expect("its address").port()
}
