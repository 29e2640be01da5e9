//! The error text of a plan that failed.

use onecall_core::{Failure, PlanPart};

use super::{Node, Plan, ResultUse};

impl Plan {
    /// Replaces the text of a failure by one that names the part of the plan that failed, if the
    /// error says which part that is.
    pub(crate) fn explain_failure(&self, failure: Failure) -> Failure {
        let Failure::Raised { traceback: message, error } = failure else { return failure };
        let Some(part) = error.plan_part else {
            return Failure::Raised { traceback: message, error };
        };
        let kind = &error.kind;
        let traceback = match self.location_of(part) {
            Some(PlanLocation::Definitions) => format!("{kind}: definitions {message}"),
            Some(PlanLocation::Transform { path, source }) => {
                format!("{kind}: the transform of {path} {message}\n    {source}")
            }
            Some(PlanLocation::Node { path }) => format!("{kind}: {message}\n    in {path}"),
            // The part comes from a worker and may not exist.
            None => format!("{kind}: {message}"),
        };
        Failure::Raised { traceback, error }
    }

    fn location_of(&self, part: PlanPart) -> Option<PlanLocation<'_>> {
        match part {
            PlanPart::Definitions => Some(PlanLocation::Definitions),
            PlanPart::Transform(number) => {
                let mut results = self.nodes.iter().flat_map(Node::results);
                results.find_map(|ResultUse { path, transform, .. }| {
                    let transform = transform.as_ref().filter(|it| it.number == number)?;
                    Some(PlanLocation::Transform { path, source: &transform.source })
                })
            }
            PlanPart::Node(number) => {
                self.nodes.get(number).map(|node| PlanLocation::Node { path: &node.path })
            }
        }
    }
}

/// Where a part of a plan is in the request.
enum PlanLocation<'a> {
    Definitions,
    Transform { path: &'a str, source: &'a str },
    Node { path: &'a str },
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onecall_core::{
        CallableName, ErrorSummary, ServerName, ToolAnnotations, ToolName, ToolSpec,
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::PlanRequest;
    use crate::plan::{PlanLookup, check_plan};

    fn plan(request: Value) -> Plan {
        let tool = |name: &str| {
            PlanLookup::Tool(Arc::new(ToolSpec {
                callable: CallableName::new(format!("mcp__s__{name}")),
                server: ServerName::new("s"),
                tool: ToolName::new(name),
                description: None,
                input_schema: json!({}).into(),
                output_schema: None,
                annotations: ToolAnnotations::default(),
            }))
        };
        check_plan(PlanRequest::read(request.as_object().unwrap()), &tool).unwrap()
    }

    fn explained(plan: &Plan, plan_part: Option<PlanPart>) -> String {
        let error =
            ErrorSummary { kind: "PlanError".to_owned(), plan_part, ..ErrorSummary::default() };
        plan.explain_failure(Failure::Raised { traceback: "it".to_owned(), error }).to_string()
    }

    #[test]
    fn a_failure_names_the_part_that_failed() {
        let plan = plan(json!({
            "target_tool": "last",
            "tool_args": {
                "a": { "__tool__": "first", "identifier": "one", "__transform__": "str" },
                "b": [{ "__ref__": "one", "__transform__": " len" }],
            },
        }));
        let cases = [
            (Some(PlanPart::Definitions), "PlanError: definitions it"),
            (Some(PlanPart::Transform(0)), "PlanError: the transform of tool_args.a it\n    str"),
            (
                Some(PlanPart::Transform(1)),
                "PlanError: the transform of tool_args.b[0] it\n     len",
            ),
            (Some(PlanPart::Node(0)), "PlanError: it\n    in tool_args.a"),
            (Some(PlanPart::Node(1)), "PlanError: it\n    in target_tool"),
            (Some(PlanPart::Node(2)), "PlanError: it"),
            (Some(PlanPart::Transform(usize::MAX)), "PlanError: it"),
            (None, "it"),
        ];
        for (part, expected) in cases {
            assert_eq!(explained(&plan, part), expected);
        }
    }

    #[test]
    fn only_python_needs_an_interpreter() {
        let argument =
            |argument: Value| json!({ "target_tool": "t", "tool_args": { "a": argument } });
        let call = json!({ "__tool__": "t", "identifier": "i" });
        let changed = json!({ "deep": [call, { "__ref__": "i", "__transform__": "str" }] });
        assert!(!plan(json!({ "target_tool": "t" })).needs_interpreter());
        assert!(!plan(argument(json!({ "deep": [call, { "__ref__": "i" }] }))).needs_interpreter());
        assert!(plan(argument(changed)).needs_interpreter());
        assert!(plan(json!({ "target_tool": "t", "definitions": "" })).needs_interpreter());
    }
}
