//! The cost of recording a program's calls.

use std::cell::RefCell;

use serde_json::json;

use crate::rounds::{Contender, Ratio, interleave};
use crate::section::Section;
use crate::subject::Subject;

const PROGRAM: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=i, b=1)
print(total)";
const PRINTED: &str = "500500";

const RECORDED: &str = "recorded, `records: metadata`";
const UNRECORDED: &str = "not recorded, `records: off`";

/// The difference is smaller than that between two runs of the same program, so it takes many
/// rounds.
const ROUNDS: usize = 1_000;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = |records: &str| {
        // A separate file, not the user's store.
        let store = json!({ "path": subject.folder.join(format!("records-{records}.db")) });
        let config = json!({ "records": records, "store": store });
        subject.warm_gateway_with(&format!("records-{records}"), config).map(RefCell::new)
    };
    let (recorded, unrecorded) = (gateway("metadata")?, gateway("off")?);
    let contenders = vec![
        Contender::new(RECORDED, || recorded.borrow_mut().run(PROGRAM, PRINTED)),
        Contender::new(UNRECORDED, || unrecorded.borrow_mut().run(PROGRAM, PRINTED)),
    ];
    let mut section = Section::new("a program with 1,000 calls of `add`, its run recorded");
    section.add_times(interleave(subject.rounds(ROUNDS), contenders)?);
    section.compare(RECORDED, UNRECORDED);
    let ratio = section
        .samples(RECORDED)
        .zip(section.samples(UNRECORDED))
        .map(|(recorded, unrecorded)| Ratio::within_rounds(recorded, unrecorded));
    section.note("What is promised is the median of the ratios within each round.");
    section.promise_ratio(
        "a run with 1,000 calls that is recorded against one that is not",
        ratio,
        1.03,
    );
    Ok(section)
}
