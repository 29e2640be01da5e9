//! Policies as they are written: parsed, named and with their annotations, but not yet compared with
//! the tools of servers.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use cedar_policy::{Effect, EntityUid, ParseErrors, Policy, PolicyId, PolicySet, pst};
use miette::Diagnostic;
use onecall_core::nearest::nearest;
use onecall_core::text::visible_line;
use onecall_core::{PolicyRule, ToolSpec};

use crate::deep_stack::with_deep_stack;
use crate::files::{self, PolicyFile};
use crate::problem::{PolicyErrors, PolicyProblem, Position};
use crate::reads::ContextReads;
use crate::scope::Scope;

/// How deep brackets may be nested, and how long a policy may be, in bytes.
const MAX_NESTING: usize = 64;
const MAX_POLICY_BYTES: usize = 32 * 1024;

/// How many policies there may be.
const MAX_POLICIES: usize = 20_000;

/// The longest name and the longest reason, in bytes.
const MAX_NAME_BYTES: usize = 200;
const MAX_REASON_BYTES: usize = 2_000;

/// The name of the rule that denies what no policy permits.
pub(crate) const DEFAULT_RULE: &str = "default";

/// The annotations that mean something.
const ANNOTATIONS: [&str; 4] = ["id", "ask", "reason", "description"];

/// Policies that were read and parsed.
#[derive(Clone, Debug)]
pub struct PolicySource {
    pub(crate) policies: Arc<[Arc<SourcePolicy>]>,
}

/// What a policy does with the calls that satisfy it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyEffect {
    /// The calls are permitted, unless another policy forbids them.
    Permit,
    /// The calls are denied.
    Forbid,
    /// A person is asked about the calls, if another policy permits them.
    Ask,
}

/// One policy of a file.
#[derive(Clone, Debug)]
pub(crate) struct SourcePolicy {
    /// Its name: of `@id`, or its file and line.
    pub(crate) name: String,
    /// The policy; its id is `name`.
    pub(crate) policy: Policy,
    /// The policy without its scope, to be evaluated where the scope is known to cover the call.
    pub(crate) conditions: Policy,
    pub(crate) effect: PolicyEffect,
    /// The reason that it gives to people.
    pub(crate) reason: Option<String>,
    pub(crate) scope: Scope,
    pub(crate) reads: ContextReads,
    /// The entities that it names, in its scope and its conditions.
    pub(crate) entities: Vec<EntityUid>,
    /// Its place among all policies.
    pub(crate) number: usize,
    file: Arc<PolicyFile>,
    /// The bytes of the file that are the policy.
    start: usize,
    end: usize,
}

impl PolicySource {
    /// Reads a policy file, or the policy files of a folder.
    ///
    /// # Errors
    /// If a file cannot be read, or does not have the form of policies. All problems are reported.
    pub fn load(path: &Path) -> Result<Self, PolicyErrors> {
        Self::parse(files::read(path)?)
    }

    /// Parses the texts of policy files.
    ///
    /// # Errors
    /// If a text does not have the form of policies. All problems are reported.
    pub fn parse(files: Vec<PolicyFile>) -> Result<Self, PolicyErrors> {
        let unusable = || PolicyProblem {
            file: "policies".to_owned(),
            position: None,
            message: "they cannot be parsed: no thread can be started".to_owned(),
        };
        with_deep_stack(|| parse_files(files)).ok_or_else(unusable)?
    }

    /// How many policies there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Whether there is no policy, so that every call is denied.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}

impl SourcePolicy {
    /// The rule, as decisions name it.
    pub(crate) fn rule(&self) -> PolicyRule {
        PolicyRule { name: self.name.clone(), reason: self.reason.clone() }
    }

    /// The rule of a decision that this policy could not be evaluated for a call of `tool`.
    pub(crate) fn failed_rule(&self, tool: &ToolSpec, why: &str) -> PolicyRule {
        let reason = format!("it cannot be evaluated for a call of '{}': {why}", tool.callable);
        PolicyRule { name: self.name.clone(), reason: Some(reason) }
    }

    /// The source of the policy.
    pub(crate) fn text(&self) -> &str {
        self.file.text.get(self.start..self.end).unwrap_or_default()
    }

    /// The file, and the line at which the policy begins.
    pub(crate) fn place(&self) -> (&str, usize) {
        (&self.file.name, Position::of(&self.file.text, self.start).line)
    }

    /// A problem at a byte of the file, or at the begin of the policy.
    pub(crate) fn problem(
        &self,
        offset: Option<usize>,
        message: impl Into<String>,
    ) -> PolicyProblem {
        let offset = offset.filter(|it| (self.start..=self.end).contains(it)).unwrap_or(self.start);
        PolicyProblem {
            file: self.file.name.clone(),
            position: Some(Position::of(&self.file.text, offset)),
            message: message.into(),
        }
    }

    /// A problem with this word of the policy.
    pub(crate) fn problem_at(&self, word: &str, message: impl Into<String>) -> PolicyProblem {
        self.problem(find_word(self.text(), word).map(|it| self.start + it), message)
    }
}

/// The first place in `text` where `word` does not continue another word.
fn find_word(text: &str, word: &str) -> Option<usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let stands_alone = |offset: &usize| {
        let before = text.get(..*offset).and_then(|it| it.chars().next_back());
        let after = text.get(offset + word.len()..).and_then(|it| it.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    };
    let mut places = text.match_indices(word).map(|(offset, _)| offset);
    places.clone().find(stands_alone).or_else(|| places.next())
}

fn parse_files(files: Vec<PolicyFile>) -> Result<PolicySource, PolicyErrors> {
    let (mut policies, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        match parse_file(Arc::new(file)) {
            Ok(parsed) => policies.extend(parsed),
            Err(errors) => problems.extend(errors.problems),
        }
    }
    if policies.len() > MAX_POLICIES {
        let message = format!("there are more than {MAX_POLICIES} policies");
        problems.push(PolicyProblem { file: "policies".to_owned(), position: None, message });
    }
    problems.extend(duplicate_names(&policies));
    let numbered = policies.into_iter().enumerate();
    let policies = numbered.map(|(number, policy)| Arc::new(SourcePolicy { number, ..policy }));
    PolicyErrors::unless_empty(PolicySource { policies: policies.collect() }, problems)
}

fn duplicate_names(policies: &[SourcePolicy]) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    let mut seen: HashMap<&str, &SourcePolicy> = HashMap::new();
    for policy in policies {
        if let Some(first) = seen.insert(&policy.name, policy) {
            let (file, line) = first.place();
            let name = &policy.name;
            let message = format!(
                "the policy at {file}:{line} has the id \"{name}\", too; give each its own @id"
            );
            problems.push(policy.problem(None, message));
        }
    }
    problems
}

fn parse_file(file: Arc<PolicyFile>) -> Result<Vec<SourcePolicy>, PolicyErrors> {
    check_size(&file)?;
    let set: PolicySet = file.text.parse().map_err(|errors| syntax_errors(&file, &errors))?;
    let mut problems = Vec::new();
    for template in set.templates() {
        let start = template.as_ref().loc().map_or(0, |loc| loc.start());
        problems.push(PolicyProblem {
            file: file.name.clone(),
            position: Some(Position::of(&file.text, start)),
            message: "this is a template, and nothing fills its slots: write the user, the group or the server instead of ?principal and ?resource".to_owned(),
        });
    }
    let mut policies = Vec::new();
    for policy in set.policies().filter(|policy| policy.is_static()) {
        match source_policy(policy, &file) {
            Ok(policy) => policies.push(policy),
            Err(problem) => problems.push(problem),
        }
    }
    policies.sort_by_key(|policy: &SourcePolicy| policy.start);
    rename_neighbours(&mut policies);
    PolicyErrors::unless_empty(policies, problems)
}

/// Refuses texts that the parser could take too long for, or recurse too deeply.
fn check_size(file: &PolicyFile) -> Result<(), PolicyProblem> {
    let refused = |offset: usize, message: String| PolicyProblem {
        file: file.name.clone(),
        position: Some(Position::of(&file.text, offset)),
        message,
    };
    let (mut depth, mut start) = (0_usize, 0);
    let mut characters = file.text.char_indices().peekable();
    while let Some((offset, character)) = characters.next() {
        match character {
            '"' => {
                while let Some((_, inner)) = characters.next() {
                    match inner {
                        '"' => break,
                        '\\' => _ = characters.next(),
                        _ => {}
                    }
                }
            }
            '/' if characters.peek().is_some_and(|(_, next)| *next == '/') => {
                while characters.next().is_some_and(|(_, inner)| inner != '\n') {}
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            ';' => start = offset,
            _ => {}
        }
        if depth > MAX_NESTING {
            let message = format!("brackets are nested more than {MAX_NESTING} deep here");
            return Err(refused(offset, message));
        }
        if offset - start > MAX_POLICY_BYTES {
            let size = MAX_POLICY_BYTES / 1024;
            let message = format!("this policy has more than {size} KiB; split it into several");
            let text = file.text.get(start..).unwrap_or_default();
            let blank = text.len() - text.trim_start_matches([';', ' ', '\n', '\r', '\t']).len();
            return Err(refused(start + blank, message));
        }
    }
    Ok(())
}

fn syntax_errors(file: &PolicyFile, errors: &ParseErrors) -> PolicyErrors {
    let problem = |error: &dyn Diagnostic| PolicyProblem {
        file: file.name.clone(),
        position: Some(Position::of(&file.text, offset(error).unwrap_or_default())),
        message: message(error),
    };
    let mut problems: Vec<_> = errors.iter().map(|error| problem(error)).collect();
    crate::problem::sort(&mut problems);
    PolicyErrors { problems }
}

/// The place that an error of Cedar points to.
pub(crate) fn offset(error: &dyn Diagnostic) -> Option<usize> {
    error.labels()?.map(|label| label.offset()).next()
}

/// The message of an error of Cedar, with its advice.
pub(crate) fn message(error: &dyn Diagnostic) -> String {
    let mut text = error.to_string();
    if let Some(help) = error.help() {
        text.push_str(&format!("; {help}"));
    }
    visible_line(&text).into_owned()
}

fn source_policy(policy: &Policy, file: &Arc<PolicyFile>) -> Result<SourcePolicy, PolicyProblem> {
    let (start, end) = policy.as_ref().loc().map_or((0, 0), |loc| (loc.start(), loc.end()));
    let position = Position::of(&file.text, start);
    let refused = |message: String| PolicyProblem {
        file: file.name.clone(),
        position: Some(position),
        message,
    };
    for (key, value) in policy.annotations() {
        check_annotation(key, value, policy.effect()).map_err(refused)?;
    }
    let name = match policy.annotation("id") {
        Some(id) => id.to_owned(),
        None => format!("{}:{}", file.name, position.line),
    };
    let effect = match (policy.effect(), policy.annotation("ask")) {
        (Effect::Permit, _) => PolicyEffect::Permit,
        (Effect::Forbid, None) => PolicyEffect::Forbid,
        (Effect::Forbid, Some(_)) => PolicyEffect::Ask,
    };
    let reasons = ["ask", "reason"].into_iter().filter_map(|key| policy.annotation(key));
    let reason = reasons.map(visible_line).find(|reason| !reason.is_empty());
    let tree = policy.to_pst().map_err(|error| refused(error.to_string()))?;
    let conditions =
        without_scope(tree.body().clone()).map_err(|error| refused(error.to_string()))?;
    Ok(SourcePolicy {
        policy: policy.new_id(PolicyId::new(&name)),
        conditions: conditions.new_id(PolicyId::new(&name)),
        effect,
        reason: reason.map(|reason| reason.into_owned()),
        scope: Scope::of(policy),
        reads: ContextReads::of(tree.body()),
        entities: policy.entity_literals(),
        name,
        number: 0,
        file: Arc::clone(file),
        start,
        end,
    })
}

/// The policy for every user, action and server.
fn without_scope(mut body: pst::Template) -> Result<Policy, pst::PstConstructionError> {
    body.principal = pst::PrincipalConstraint::Any;
    body.action = pst::ActionConstraint::Any;
    body.resource = pst::ResourceConstraint::Any;
    body.annotations.clear();
    Policy::from_pst(pst::Policy::Static(body.try_into()?))
}

fn check_annotation(key: &str, value: &str, effect: Effect) -> Result<(), String> {
    match key {
        "id" if value.is_empty()
            || value.len() > MAX_NAME_BYTES
            || visible_line(value) != value =>
        {
            Err(format!("@id needs a text of at most {MAX_NAME_BYTES} visible characters"))
        }
        "id" if value == DEFAULT_RULE => Err(format!(
            "@id(\"{DEFAULT_RULE}\") is the name of the rule that denies what no policy permits; choose another one"
        )),
        "ask" | "reason" if effect == Effect::Permit => Err(format!(
            "@{key} is only for forbid, and this is a permit: write a forbid for the calls that need it"
        )),
        "ask" | "reason" if value.len() > MAX_REASON_BYTES => {
            Err(format!("the text of @{key} has more than {MAX_REASON_BYTES} bytes"))
        }
        known if ANNOTATIONS.contains(&known) => Ok(()),
        unknown => {
            let known = ANNOTATIONS.map(|it| format!("@{it}")).join(", ");
            let meant = nearest(unknown, ANNOTATIONS);
            let meant = meant.map(|it| format!(" (did you mean @{it}?)")).unwrap_or_default();
            Err(format!("@{unknown} means nothing here{meant}; there are {known}"))
        }
    }
}

/// Adds the column to the names of policies that begin on the same line as the one before.
fn rename_neighbours(policies: &mut [SourcePolicy]) {
    let mut line_before = 0;
    for policy in policies {
        let Position { line, column } = Position::of(&policy.file.text, policy.start);
        if line == line_before && policy.policy.annotation("id").is_none() {
            policy.name = format!("{}:{line}:{column}", policy.file.name);
            policy.policy = policy.policy.new_id(PolicyId::new(&policy.name));
            policy.conditions = policy.conditions.new_id(PolicyId::new(&policy.name));
        }
        line_before = line;
    }
}
