//! What is said of a plan that failed.

use onecall_core::{Failure, PlanPart};

use super::{Node, Plan, ResultOf};

impl Plan {
    /// The failure with a text that names the part of the plan that failed, if it says which part
    /// that is. Until then the text is only the message of the error.
    pub(crate) fn explain_failure(&self, failure: Failure) -> Failure {
        let Failure::Raised { traceback: message, error } = failure else { return failure };
        let Some(part) = error.plan_part else {
            return Failure::Raised { traceback: message, error };
        };
        let kind = &error.kind;
        let traceback = match self.place(part) {
            Some(Place::Definitions) => format!("{kind}: definitions {message}"),
            Some(Place::Transform { path, source }) => {
                format!("{kind}: the transform of {path} {message}\n    {source}")
            }
            Some(Place::Node { path }) => format!("{kind}: {message}\n    in {path}"),
            // A worker may say anything.
            None => format!("{kind}: {message}"),
        };
        Failure::Raised { traceback, error }
    }

    fn place(&self, part: PlanPart) -> Option<Place<'_>> {
        match part {
            PlanPart::Definitions => Some(Place::Definitions),
            PlanPart::Transform(number) => {
                let mut results = self.nodes.iter().flat_map(Node::results);
                results.find_map(|ResultOf { path, transform, .. }| {
                    let transform = transform.as_ref().filter(|it| it.number == number)?;
                    Some(Place::Transform { path, source: &transform.source })
                })
            }
            PlanPart::Node(number) => {
                self.nodes.get(number).map(|node| Place::Node { path: &node.path })
            }
        }
    }
}

/// Where a part of a plan stands in its request.
enum Place<'a> {
    Definitions,
    Transform { path: &'a str, source: &'a str },
    Node { path: &'a str },
}
