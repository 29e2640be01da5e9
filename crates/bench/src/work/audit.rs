//! The cost of the audit trail for calls that only read, which do not wait for the disk. Calls with effects
//! wait as those of durable runs do (`durable.rs`).

use std::cell::RefCell;

use serde_json::json;

use crate::rounds::{Contender, interleave};
use crate::section::Section;
use crate::subject::Subject;

const PROGRAM: &str = "\
total = 0
for i in range(1000):
    total += await mcp__fixture__add(a=i, b=1)
print(total)";
const PRINTED: &str = "500500";

const AUDITED: &str = "audited, `audit: hash`";
const UNAUDITED: &str = "not audited, `audit: off`";

const ROUNDS: usize = 200;

pub fn measure(subject: &Subject) -> Result<Section, String> {
    let gateway = |audit: &str| {
        // A separate file, not the user's store.
        let store = json!({ "path": subject.folder.join(format!("audit-{audit}.db")) });
        let config = json!({ "audit": audit, "records": "off", "store": store });
        subject.warm_gateway_with(&format!("audit-{audit}"), config).map(RefCell::new)
    };
    let (audited, unaudited) = (gateway("hash")?, gateway("off")?);
    let contenders = vec![
        Contender::new(AUDITED, || audited.borrow_mut().run(PROGRAM, PRINTED)),
        Contender::new(UNAUDITED, || unaudited.borrow_mut().run(PROGRAM, PRINTED)),
    ];
    let mut section = Section::new("a program with 1,000 calls of `add`, audited");
    section.add_times(interleave(subject.rounds(ROUNDS), contenders)?);
    section.compare(AUDITED, UNAUDITED);
    Ok(section)
}
