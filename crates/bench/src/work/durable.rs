//! The cost of a journal: of calls that only read, which do not wait for the disk, and of calls with
//! effects, which do.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::rounds::{Contender, Ratio, interleave, timed};
use crate::section::{Section, Unit};
use crate::server::Server;
use crate::subject::Subject;

const READS: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=i, b=1)
print(total)";
const READS_PRINTED: &str = "500500";

const EFFECTS: u32 = 64;
const IN_TURN: &str = "\
for i in range(64):
    await mcp__counting__effect(id=str(i))
print('done')";
const AT_ONCE: &str = "\
import asyncio
await asyncio.gather(*[mcp__counting__effect(id=str(i)) for i in range(64)])
print('done')";
const DONE: &str = "done";

const READS_JOURNALLED: &str = "1,000 reads, `durable: true`";
const READS_PLAIN: &str = "1,000 reads, `durable: false`";
const TURN_JOURNALLED: &str = "64 effects in turn, `durable: true`";
const TURN_PLAIN: &str = "64 effects in turn, `durable: false`";
const ONCE_JOURNALLED: &str = "64 effects at once, `durable: true`";
const ONCE_PLAIN: &str = "64 effects at once, `durable: false`";
const INTENT: &str = "an intent alone: an effect in turn, net of one without a journal";
const INTENT_AT_ONCE: &str = "an intent of 64 at once, net of one without a journal";
const BARE_SYNC: &str = "writing 4 kB over a file on the same disk, with `fdatasync`";

/// The difference between two runs of the same program is larger than what is promised, so it takes
/// many rounds, most of all for reads.
const ROUNDS: usize = 60;
const READ_ROUNDS: usize = 300;

/// How many writes one sample of the bare disk is made of.
const SYNCS: u32 = 16;

/// The bytes of a page in a database.
const PAGE: usize = 4096;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = |durable: bool| gateway(subject, durable).map(RefCell::new);
    let (journalled, plain) = (gateway(true)?, gateway(false)?);
    let run = |gateway: &RefCell<Server>, program: &str, printed: &str| {
        gateway.borrow_mut().run(program, printed)
    };
    let disk = subject.folder.join("durable-sync");
    // By themselves: after a write, which leaves the processor idle, either of them would be slower.
    let reads = vec![
        Contender::new(READS_JOURNALLED, || run(&journalled, READS, READS_PRINTED)),
        Contender::new(READS_PLAIN, || run(&plain, READS, READS_PRINTED)),
    ];
    let effects = vec![
        Contender::new(TURN_JOURNALLED, || run(&journalled, IN_TURN, DONE)),
        Contender::new(TURN_PLAIN, || run(&plain, IN_TURN, DONE)),
        Contender::new(ONCE_JOURNALLED, || run(&journalled, AT_ONCE, DONE)),
        Contender::new(ONCE_PLAIN, || run(&plain, AT_ONCE, DONE)),
        Contender::new(BARE_SYNC, || sync_file(&disk)),
    ];
    let mut section = Section::new("the journal of a durable run");
    section.add_times(interleave(subject.rounds(READ_ROUNDS), reads)?);
    section.add_times(interleave(subject.rounds(ROUNDS), effects)?);
    add_difference(&mut section, INTENT, TURN_JOURNALLED, TURN_PLAIN);
    add_difference(&mut section, INTENT_AT_ONCE, ONCE_JOURNALLED, ONCE_PLAIN);
    section.compare(READS_JOURNALLED, READS_PLAIN);
    section.compare(TURN_JOURNALLED, TURN_PLAIN);
    section.compare(ONCE_JOURNALLED, ONCE_PLAIN);
    section.compare(INTENT, BARE_SYNC);
    let shared = section.compare(INTENT_AT_ONCE, INTENT);
    let reads = section
        .samples(READS_JOURNALLED)
        .zip(section.samples(READS_PLAIN))
        .map(|(journalled, plain)| Ratio::within_rounds(journalled, plain));
    section.note("What is promised of reads is the median of the ratios within each round.");
    section.promise_ratio(
        "1,000 reads that are journalled against those that are not",
        reads,
        1.05,
    );
    section.promise_at_most("an intent alone", INTENT, 1e-3);
    section.promise_ratio("an intent of 64 at once against one alone", shared, 1.0);
    Ok(section)
}

/// A warm gateway with a server to read from and one that has effects.
fn gateway(subject: &Subject, durable: bool) -> Result<Server, String> {
    let name = format!("durable-{durable}");
    let effects = subject.folder.join(format!("{name}.effects"));
    let effects = effects.to_string_lossy();
    let config: Value = json!({
        "servers": [
            subject.server("fixture", &[]),
            subject.server("counting", &["--effects", effects.as_ref()]),
        ],
        "durable": durable,
        "records": "off",
        // A separate file, not the user's store.
        "store": { "path": subject.folder.join(format!("{name}.db")) },
    });
    let mut gateway = subject.warm_gateway_in_front_of(&name, config)?;
    gateway.run(AT_ONCE, DONE)?;
    Ok(gateway)
}

/// Adds what a journal costs each effect, by the difference within each round.
fn add_difference(section: &mut Section, name: &str, journalled: &str, plain: &str) {
    if let Some((with, without)) = section.samples(journalled).zip(section.samples(plain)) {
        let rounds = with.values().iter().zip(without.values());
        let differences: Vec<f64> =
            rounds.map(|(with, without)| (with - without) / f64::from(EFFECTS)).collect();
        section.add(name, Unit::Seconds, differences.into());
    }
}

/// The seconds that a write takes until it is on disk. It goes to a place that the file has already,
/// as most writes of a database do.
fn sync_file(path: &Path) -> Result<f64, String> {
    let open = || {
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        file.write_all(&[0; PAGE * SYNCS as usize])?;
        file.sync_all()?;
        file.rewind()?;
        Ok(file)
    };
    let write = |mut file: File| {
        (0..SYNCS).try_for_each(|_| {
            file.write_all(&[7; PAGE])?;
            file.sync_data()
        })
    };
    let opened: std::io::Result<File> = open();
    let (written, seconds) = match opened {
        Ok(file) => timed(|| write(file)),
        Err(error) => (Err(error), 0.0),
    };
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(seconds / f64::from(SYNCS))
}
