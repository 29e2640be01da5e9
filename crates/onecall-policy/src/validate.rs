//! Checks a policy against the definition of a tool, with Cedar's own validator.
//!
//! The schema for a check has only the tool in question and the actions that the policy mentions, so
//! ten thousand tools cost nothing.

use cedar_policy::{PolicySet, Schema, ValidationMode, Validator};
use miette::Diagnostic;
use onecall_core::nearest::nearest;
use serde_json::{Map, Value, json};

use crate::argument_type::{Arguments, Untyped, cedar_record};
use crate::entity::{ACTION, GROUP, SERVER, USER, id, is_type};
use crate::function::Function;
use crate::problem::PolicyProblem;
use crate::reads::{INPUT, InputReads};
use crate::scope::ActionGroup;
use crate::source::{SourcePolicy, message, offset};

/// The action that stands for every tool that a policy does not name. No tool has such a name.
const ANY_ACTION: &str = "any tool";

/// What a policy is checked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// The tool or function; `None` stands for any.
    pub(crate) action: Option<&'a str>,
    /// Its arguments; `None` if the policy may not read them, or does not.
    pub(crate) arguments: Option<Result<&'a Arguments, Untyped>>,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Why the policy cannot be used for the tool.
    pub(crate) errors: Vec<PolicyProblem>,
    /// What is valid, but suspicious.
    pub(crate) warnings: Vec<PolicyProblem>,
}

/// Checks a policy for one tool. Recurses as deep as the policy is nested.
pub(crate) fn validate(policy: &SourcePolicy, target: Target<'_>) -> Findings {
    let unknown = unknown_arguments(policy, target);
    if !unknown.is_empty() {
        return Findings { errors: unknown, warnings: Vec::new() };
    }
    let refused = |message: String| Findings {
        errors: vec![policy.problem(None, message)],
        warnings: Vec::new(),
    };
    match Schema::from_json_value(cedar_schema(policy, target)) {
        Ok(schema) => check(policy, schema),
        Err(error) => refused(format!("the tool's arguments cannot be described: {error}")),
    }
}

fn check(policy: &SourcePolicy, schema: Schema) -> Findings {
    let set = match PolicySet::from_policies([policy.policy.clone()]) {
        Ok(set) => set,
        Err(error) => {
            let errors = vec![policy.problem(None, error.to_string())];
            return Findings { errors, warnings: Vec::new() };
        }
    };
    let result = Validator::new(schema).validate(&set, ValidationMode::Strict);
    let found = |error: &dyn Diagnostic| {
        policy.problem(offset(error), readable_message(&message(error), &policy.name))
    };
    Findings {
        errors: result.validation_errors().map(|error| found(error)).collect(),
        warnings: result.validation_warnings().map(|warning| found(warning)).collect(),
    }
}

/// A message of Cedar, without what its place says anyway.
fn readable_message(message: &str, policy: &str) -> String {
    let mut text = message.replace(&format!("for policy `{policy}`, "), "");
    text = text.replace(&format!(" for Action::\"{ANY_ACTION}\""), "");
    if text.ends_with("but saw decimal") {
        text.push_str(
            "; compare a number with the methods of decimals, as in .lessThan(decimal(\"100.0\"))",
        );
    }
    text
}

/// The arguments that the policy reads and the tool does not have, or that have no type.
fn unknown_arguments(policy: &SourcePolicy, target: Target<'_>) -> Vec<PolicyProblem> {
    let (Some(action), Some(arguments)) = (target.action, target.arguments) else {
        return Vec::new();
    };
    let names = match &policy.reads.input {
        InputReads::Arguments(names) => names,
        InputReads::Nothing => return Vec::new(),
        InputReads::Everything => {
            let message = format!(
                "context.{INPUT} can only be read argument by argument, as in context.{INPUT}.name"
            );
            return vec![policy.problem_at(INPUT, message)];
        }
    };
    let arguments = match arguments {
        Ok(arguments) => arguments,
        Err(why) => {
            let message = format!("policies cannot read the arguments of '{action}': {why}");
            return vec![policy.problem_at(INPUT, message)];
        }
    };
    let known = || arguments.keys().map(String::as_str);
    let problem = |name: &String| {
        let message = match arguments.get(name).map(|argument| &argument.kind) {
            Some(Ok(_)) => return None,
            Some(Err(why)) => {
                format!("policies cannot read the argument '{name}' of '{action}': {why}")
            }
            None => match nearest(name, known()) {
                Some(meant) => {
                    format!("'{action}' has no argument '{name}'; did you mean '{meant}'?")
                }
                None if arguments.is_empty() => {
                    format!("'{action}' has no argument '{name}'; it declares none")
                }
                None => {
                    let some: Vec<&str> = known().take(10).collect();
                    format!("'{action}' has no argument '{name}'; it has {}", some.join(", "))
                }
            },
        };
        Some(policy.problem_at(name, message))
    };
    names.iter().filter_map(problem).collect()
}

/// The schema in which a policy is checked, in Cedar's JSON format.
fn cedar_schema(policy: &SourcePolicy, target: Target<'_>) -> Value {
    let mut actions = Map::new();
    for group in ActionGroup::ALL {
        actions.insert(group.name().to_owned(), json!({}));
    }
    let mentioned = policy.entities.iter().filter(|it| is_type(it.type_name(), ACTION)).map(id);
    for name in mentioned.filter(|name| ActionGroup::named(name).is_none()) {
        let member = json!({ "memberOf": [{ "id": group_of(&name).name() }] });
        actions.insert(name, member);
    }
    let checked = target.action.unwrap_or(ANY_ACTION);
    let applies_to = json!({
        "principalTypes": [USER],
        "resourceTypes": [SERVER],
        "context": context(target.arguments.and_then(Result::ok)),
    });
    // Without a tool, the action is a member of every group, so that no policy is beside the point.
    let groups: Vec<Value> = match target.action {
        Some(name) => vec![json!({ "id": group_of(name).name() })],
        None => ActionGroup::ALL.iter().map(|group| json!({ "id": group.name() })).collect(),
    };
    actions.insert(checked.to_owned(), json!({ "memberOf": groups, "appliesTo": applies_to }));
    let named = json!({ "type": "Record", "attributes": { "name": { "type": "String" } } });
    json!({ "": {
        "entityTypes": {
            USER: { "memberOfTypes": [GROUP], "shape": named },
            GROUP: {},
            SERVER: { "shape": named },
        },
        "actions": actions,
    } })
}

fn group_of(action: &str) -> ActionGroup {
    Function::named(action).map_or(ActionGroup::Call, |function| function.group)
}

/// The type of the context of a call.
fn context(arguments: Option<&Arguments>) -> Value {
    let text = json!({ "type": "String" });
    let truth = json!({ "type": "Boolean" });
    let mut attributes = json!({
        "tool": text,
        "client": text,
        "kind": text,
        "program": { "type": "String", "required": false },
        "annotations": { "type": "Record", "attributes": {
            "read_only": truth, "destructive": truth, "idempotent": truth, "open_world": truth,
        } },
    });
    if let Some(arguments) = arguments {
        attributes[INPUT] = cedar_record(arguments);
    }
    json!({ "type": "Record", "attributes": attributes })
}
