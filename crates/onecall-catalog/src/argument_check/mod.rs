//! Checks whether arguments can match a tool's schema, either when all of them are known or before
//! they have been computed.
//!
//! Only certain mismatches are reported: unknown keywords, parts that are computed later and
//! schemas that are too large are accepted. `pattern` is not checked either: schemas use a dialect
//! that no regular expression engine supports that is safe for untrusted patterns.

mod arguments;
mod conversion;
mod keyword;
mod partial_value;
mod path;

use std::collections::HashSet;
use std::fmt;

use onecall_core::nearest::nearest;
use serde_json::{Map, Value};

use arguments::left_out;

use crate::untyped::is_untyped;

pub use arguments::{CheckedArguments, check_arguments};
pub use conversion::Strictness;
pub use partial_value::PartialValue;

use conversion::{conversions, note};
use keyword::{
    MAX_LINEAR_SEARCH, accepted_types, entry, is_accepted, out_of_range, wrong_choice, wrong_type,
    wrong_type_message,
};
use partial_value::{ValueRef, shorten};
use path::ValuePath;

/// The largest number of steps of one check, because a server chose the schema.
const MAX_STEPS: usize = 20_000;

/// The deepest nesting of schemas that is followed.
const MAX_DEPTH: usize = 64;

/// The number of characters of a string that count as one step.
const CHARACTERS_PER_STEP: usize = 64;

/// How many names a misspelt one is compared with, their largest length, and the steps that each
/// comparison counts.
const MAX_COMPARED: usize = 200;
const MAX_NAME: usize = 64;
const STEPS_PER_COMPARISON: usize = 8;

/// One reason why arguments are invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentMismatch {
    /// The path in the arguments, such as `.key[0]`; empty for all of them.
    pub path: String,
    /// The description of the problem.
    pub message: String,
}

impl fmt::Display for ArgumentMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.strip_prefix('.').unwrap_or(&self.path) {
            "" => formatter.write_str(&self.message),
            path => write!(formatter, "{path}: {}", self.message),
        }
    }
}

/// All reasons why `arguments` cannot match `schema`. As in [`check_arguments`], a null that will
/// be left out and a value that a lenient server may accept are not reported.
#[must_use]
pub fn mismatches(schema: &Value, arguments: &PartialValue) -> Vec<ArgumentMismatch> {
    let part = ValueRef::Partial(arguments);
    check_part(schema, part, &left_out(schema, part), Strictness::Lenient).err().unwrap_or_default()
}

/// The notes about values that only a lenient server accepts, or all reasons for a mismatch.
fn check_part(
    schema: &Value,
    part: ValueRef<'_>,
    left_out: &[&str],
    strictness: Strictness,
) -> Result<Vec<String>, Vec<ArgumentMismatch>> {
    let check = |strictness| {
        let mut check = SchemaCheck { strictness, ..SchemaCheck::new(schema, left_out) };
        let mut found = Vec::new();
        check.value(schema, part, ValuePath::Root, 0, &mut found);
        if found.is_empty() { Ok(check.notes) } else { Err(found) }
    };
    // In most cases the strict check succeeds. An error lists every mismatch, also those that a
    // lenient server accepts.
    check(Strictness::Strict).or_else(|mismatches| match strictness {
        Strictness::Strict => Err(mismatches),
        Strictness::Lenient => check(Strictness::Lenient).map_err(|_| mismatches),
    })
}

struct SchemaCheck<'a> {
    root: &'a Value,
    steps: usize,
    /// Arguments that will not be sent.
    left_out: &'a [&'a str],
    strictness: Strictness,
    /// Notes about values that only a lenient server accepts.
    notes: Vec<String>,
    /// Whether keywords beside `$ref` are ignored, as in drafts before 2019.
    references_stand_alone: bool,
}

impl<'a> SchemaCheck<'a> {
    fn new(root: &'a Value, left_out: &'a [&'a str]) -> Self {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let references_stand_alone = draft.contains("/draft-0");
        let (strictness, notes) = (Strictness::Strict, Vec::new());
        Self { root, steps: 0, left_out, strictness, notes, references_stand_alone }
    }

    fn value(
        &mut self,
        schema: &'a Value,
        part: ValueRef<'_>,
        path: ValuePath<'_>,
        depth: usize,
        found: &mut Vec<ArgumentMismatch>,
    ) {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH || part.is_unknown() {
            return;
        }
        let whole = schema;
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                found.push(mismatch(path, "nothing is accepted here"));
            }
            return;
        };
        if depth > 0
            && ["$id", "id"].iter().any(|name| entry(schema, name).is_some_and(Value::is_string))
        {
            // References inside this schema are relative to its own id, so it is not followed.
            return;
        }
        if let Some(reference) = entry(schema, "$ref") {
            if let Some(target) = self.resolve(reference) {
                self.value(target, part, path, depth + 1, found);
            }
            if self.references_stand_alone {
                return;
            }
        }
        for form in entry(schema, "allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(form, part, path, depth + 1, found);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(forms) = entry(schema, keyword).and_then(Value::as_array) {
                self.one_of(forms, part, path, depth, found);
            }
        }
        let wrong = wrong_type(schema, part)
            .or_else(|| wrong_choice(schema, part, &mut self.steps, MAX_STEPS));
        if let Some(message) = wrong {
            if !self.accepts_after_conversion(whole, part, path, depth) {
                found.push(mismatch(path, message));
            }
        } else if let Some(mut entries) = part.entries() {
            if matches!(path, ValuePath::Root) {
                entries.retain(|(name, _)| !self.left_out.contains(name));
            }
            self.entries(schema, &entries, path, depth, found);
        } else if let Some(items) = part.items() {
            self.items(schema, &items, path, depth, found);
        } else if let Some(value) = part.value() {
            self.steps += value.as_str().map_or(0, |text| text.len() / CHARACTERS_PER_STEP);
            found.extend(out_of_range(schema, value).map(|message| mismatch(path, message)));
        }
    }

    /// Whether a lenient server may accept a value of the wrong type; if so, adds a note.
    fn accepts_after_conversion(
        &mut self,
        schema: &'a Value,
        part: ValueRef<'_>,
        path: ValuePath<'_>,
        depth: usize,
    ) -> bool {
        let (Strictness::Lenient, Some(value)) = (self.strictness, part.value()) else {
            return false;
        };
        self.steps += value.as_str().map_or(0, |text| text.len() / CHARACTERS_PER_STEP);
        let may_be = conversions(value).iter().any(|converted| {
            // A value is converted at most once, so that the recursion ends.
            if !converted.is_array() && !converted.is_object() {
                self.strictness = Strictness::Strict;
            }
            let fits =
                self.check_alternative(schema, ValueRef::Complete(converted), path, depth).is_ok();
            self.strictness = Strictness::Lenient;
            fits
        });
        if may_be && let Some(schema) = schema.as_object() {
            self.notes.push(note(schema, value, path));
        }
        may_be
    }

    /// Tries a value against a schema. If it does not match, its notes are dropped.
    fn check_alternative(
        &mut self,
        schema: &'a Value,
        part: ValueRef<'_>,
        path: ValuePath<'_>,
        depth: usize,
    ) -> Result<(), Vec<ArgumentMismatch>> {
        let (mut mismatches, notes) = (Vec::new(), self.notes.len());
        self.value(schema, part, path, depth + 1, &mut mismatches);
        if mismatches.is_empty() {
            return Ok(());
        }
        self.notes.truncate(notes);
        Err(mismatches)
    }

    /// Follows a reference within the same schema; others are never followed.
    fn resolve(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    /// Checks `anyOf` and `oneOf`. It is accepted if more than one form of `oneOf` matches.
    fn one_of(
        &mut self,
        forms: &'a [Value],
        part: ValueRef<'_>,
        path: ValuePath<'_>,
        depth: usize,
        found: &mut Vec<ArgumentMismatch>,
    ) {
        let mut nearest: Option<Vec<ArgumentMismatch>> = None;
        for form in forms {
            let Err(mismatches) = self.check_alternative(form, part, path, depth) else { return };
            // The form that matches furthest into the value is probably the intended one.
            let reach =
                |mismatches: &[ArgumentMismatch]| mismatches.iter().map(|it| it.path.len()).max();
            if nearest.as_ref().is_none_or(|nearest| reach(nearest) < reach(&mismatches)) {
                nearest = Some(mismatches);
            }
        }
        let Some(mismatches) = nearest else { return };
        let here = path.to_string();
        if forms.len() == 1 || mismatches.iter().any(|it| it.path != here) {
            found.extend(mismatches);
        } else {
            found.push(mismatch(path, no_match_message(forms, part)));
        }
    }

    fn entries(
        &mut self,
        schema: &'a Map<String, Value>,
        entries: &[(&str, ValueRef<'_>)],
        path: ValuePath<'_>,
        depth: usize,
        found: &mut Vec<ArgumentMismatch>,
    ) {
        let properties = entry(schema, "properties").and_then(Value::as_object);
        self.required(schema, entries, path, found);
        let additional = entry(schema, "additionalProperties");
        let has_patterns = entry(schema, "patternProperties").is_some();
        self.steps += entries.len();
        for (key, value) in entries {
            let inner = ValuePath::Entry(&path, key);
            match properties.and_then(|properties| entry(properties, key)) {
                Some(property) if is_untyped(schema, key, property) => {}
                Some(property) => self.value(property, *value, inner, depth + 1, found),
                None if has_patterns => {}
                None if additional == Some(&Value::Bool(false)) => {
                    let quoted = format!("'{}'", shorten(key));
                    if found.iter().any(|it| it.message.contains(&quoted)) {
                        continue;
                    }
                    let names = properties.into_iter().flat_map(Map::keys);
                    let count = properties.map_or(0, Map::len).min(MAX_COMPARED);
                    self.steps += count * STEPS_PER_COMPARISON;
                    found.push(mismatch(path, unknown_name(key, names)));
                }
                None => {
                    if let Some(additional) = additional {
                        self.value(additional, *value, inner, depth + 1, found);
                    }
                }
            }
            if self.steps > MAX_STEPS {
                return;
            }
        }
    }

    fn required(
        &mut self,
        schema: &'a Map<String, Value>,
        entries: &[(&str, ValueRef<'_>)],
        path: ValuePath<'_>,
        found: &mut Vec<ArgumentMismatch>,
    ) {
        let Some(required) = entry(schema, "required").and_then(Value::as_array) else { return };
        self.steps += required.len();
        if self.steps > MAX_STEPS {
            return;
        }
        let many: Option<HashSet<&str>> = (entries.len() > MAX_LINEAR_SEARCH)
            .then(|| entries.iter().map(|(key, _)| *key).collect());
        let is_given = |name: &str| match &many {
            Some(given) => given.contains(name),
            None => entries.iter().any(|(key, _)| *key == name),
        };
        let properties = entry(schema, "properties").and_then(Value::as_object);
        // Some servers list arguments as required although they have a default.
        let has_default = |name: &str| {
            properties
                .and_then(|all| entry(all, name))
                .is_some_and(|it| it.get("default").is_some())
        };
        let missing: Vec<&str> = required
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| !is_given(name) && !has_default(name))
            .collect();
        let unknown = match missing.is_empty() {
            true => Vec::new(),
            false => unknown_names(schema, entries, &missing),
        };
        for name in &missing {
            let meant = match (missing.as_slice(), unknown.as_slice()) {
                ([_], [only]) => Some(*only),
                _ => nearest(name, unknown.iter().copied()),
            };
            let name = shorten(name);
            found.push(mismatch(
                path,
                match meant {
                    Some(given) => format!(
                        "'{name}' is missing, and there is no parameter '{}': did you mean \
                         '{name}'?",
                        shorten(given)
                    ),
                    None => format!("'{name}' is missing"),
                },
            ));
        }
    }

    fn items(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[ValueRef<'_>],
        path: ValuePath<'_>,
        depth: usize,
        found: &mut Vec<ArgumentMismatch>,
    ) {
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let bound = |keyword| entry(schema, keyword).and_then(Value::as_u64);
        if let Some(least) = bound("minItems").filter(|least| count < *least) {
            found.push(mismatch(path, format!("has {count} items, at least {least} are needed")));
        }
        if let Some(most) = bound("maxItems").filter(|most| count > *most) {
            found.push(mismatch(path, format!("has {count} items, at most {most} are accepted")));
        }
        // In older drafts, `items` itself is the list of schemas for the first items.
        let first = entry(schema, "prefixItems").and_then(Value::as_array);
        let first = first.or_else(|| entry(schema, "items").and_then(Value::as_array));
        let each = entry(schema, "items");
        for (index, item) in items.iter().enumerate() {
            let own = first.and_then(|first| first.get(index));
            let Some(schema) = own.or(each) else { return };
            self.value(schema, *item, ValuePath::Item(&path, index), depth + 1, found);
            if self.steps > MAX_STEPS {
                return;
            }
        }
    }
}

fn mismatch(path: ValuePath<'_>, message: impl Into<String>) -> ArgumentMismatch {
    ArgumentMismatch { path: path.to_string(), message: message.into() }
}

/// The message for a value that matches none of the forms. If its type is the reason, the message
/// lists the accepted types.
fn no_match_message(forms: &[Value], part: ValueRef<'_>) -> String {
    let kinds: Option<Vec<Vec<&str>>> =
        forms.iter().map(|form| accepted_types(form.as_object()?)).collect();
    let accepted: Vec<&str> = kinds.into_iter().flatten().flatten().collect();
    match part.json_type() {
        Some(kind) if !accepted.is_empty() && !is_accepted(kind, &accepted) => {
            wrong_type_message(part, kind, &without_duplicates(accepted))
        }
        _ => format!("{} fits none of its forms", part.preview()),
    }
}

/// Removes duplicate types.
fn without_duplicates(mut kinds: Vec<&str>) -> Vec<&str> {
    let mut seen = HashSet::new();
    kinds.retain(|kind| seen.insert(*kind));
    kinds
}

/// The given names that the schema does not declare and that may stand for one of the `missing`
/// names; empty if the schema accepts names of a pattern.
fn unknown_names<'v>(
    schema: &Map<String, Value>,
    entries: &[(&'v str, ValueRef<'_>)],
    missing: &[&str],
) -> Vec<&'v str> {
    let is_open = entry(schema, "patternProperties").is_some()
        || entry(schema, "additionalProperties").is_some_and(Value::is_object);
    let properties = entry(schema, "properties").and_then(Value::as_object);
    let Some(properties) = properties.filter(|_| !is_open) else { return Vec::new() };
    let names = entries.iter().map(|(name, _)| *name).take(MAX_COMPARED);
    let declared = || properties.keys().take(MAX_COMPARED).map(String::as_str);
    let may_be_missing =
        |name: &str| nearest(name, declared()).is_none_or(|nearest| missing.contains(&nearest));
    names
        .filter(|name| name.len() <= MAX_NAME && entry(properties, name).is_none())
        .filter(|name| may_be_missing(name))
        .collect()
}

fn unknown_name<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let name = shorten(name);
    let known = known.take(MAX_COMPARED).map(String::as_str).filter(|it| it.len() <= MAX_NAME);
    match nearest(&name, known) {
        Some(nearest) => format!("'{name}' is not accepted; did you mean '{nearest}'?"),
        None => format!("'{name}' is not accepted"),
    }
}
