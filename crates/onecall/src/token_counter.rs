//! Counts tokens in a short-lived process of its own, `onecall count-tokens`: the vocabulary of a tokenizer takes
//! more memory than the rest of a gateway. The process reads a JSON array of texts, writes their counts, and ends.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use onecall_runtime::TokenCounter;
use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
use tiktoken_rs::o200k_base_singleton;

/// How long the process may take.
const TIME_LIMIT: Duration = Duration::from_secs(120);

/// How much processor time and address space the process may use.
const MAX_SECONDS: u64 = 60;
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// The priority of the process, which nothing waits for.
const NICENESS: i32 = 10;

/// The longest text that is counted at once. A tokenizer takes much longer for very long words.
const MAX_PIECE: usize = 64 * 1024;

/// Starts a process for each batch of texts.
pub(crate) struct TokenCountingProcess {
    executable: PathBuf,
}

impl TokenCountingProcess {
    pub(crate) fn new(executable: PathBuf) -> Self {
        Self { executable }
    }

    fn counted(&self, texts: &[&str]) -> anyhow::Result<Vec<u64>> {
        let request = serde_json::to_vec(texts)?;
        let mut child = Command::new(&self.executable)
            .arg("count-tokens")
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("the process cannot be started")?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let (mut stdin, mut stdout) =
            (stdin.context("it has no stdin")?, stdout.context("it has no stdout")?);
        let (done, ended) = mpsc::channel();
        let watch = thread::spawn(move || end_in_time(child, &ended));
        let mut answer = String::new();
        let exchanged = stdin.write_all(&request).and_then(|()| {
            drop(stdin);
            stdout.read_to_string(&mut answer)
        });
        drop(done);
        _ = watch.join();
        exchanged.context("the process has ended early")?;
        let counts: Vec<u64> = serde_json::from_str(&answer).context("it has not answered")?;
        anyhow::ensure!(counts.len() == texts.len(), "it has counted other texts");
        Ok(counts)
    }
}

/// Waits until the exchange with the process is over or takes too long, and ends the process.
fn end_in_time(mut child: Child, ended: &mpsc::Receiver<()>) {
    _ = ended.recv_timeout(TIME_LIMIT);
    _ = child.kill();
    _ = child.wait();
}

impl TokenCounter for TokenCountingProcess {
    fn count(&self, texts: &[&str]) -> Option<Vec<u64>> {
        self.counted(texts)
            .inspect_err(|error| tracing::debug!("tokens are not counted: {error:#}"))
            .ok()
    }
}

/// The body of the process.
pub(crate) fn count_tokens() -> anyhow::Result<ExitCode> {
    let limit = |most| Rlimit { current: Some(most), maximum: Some(most) };
    _ = setpriority_process(None, NICENESS);
    setrlimit(Resource::Cpu, limit(MAX_SECONDS))?;
    setrlimit(Resource::As, limit(MAX_BYTES))?;
    let mut request = String::new();
    io::stdin().read_to_string(&mut request)?;
    let texts: Vec<String> = serde_json::from_str(&request)?;
    // Runs that could call the same tools have the same definitions.
    let mut known = HashMap::<&str, usize>::new();
    let mut count = |text| *known.entry(text).or_insert_with(|| tokens(text));
    let counts: Vec<usize> = texts.iter().map(|text| count(text.as_str())).collect();
    io::stdout().write_all(&serde_json::to_vec(&counts)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The tokens of a text.
fn tokens(mut text: &str) -> usize {
    let mut count = 0;
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_PIECE));
        count += o200k_base_singleton().encode_ordinary(piece).len();
        text = rest;
    }
    count
}
