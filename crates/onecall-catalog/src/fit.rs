//! Whether arguments can fit a tool's schema, judged before all of them exist.
//!
//! Only what is certain counts: a keyword that is not known here, a part that is
//! computed later, a schema that is too large to follow are all let through.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Steps through schemas and values that one check may take; a server chose the schema.
const MAX_STEPS: usize = 20_000;

/// How often a value may be read by a schema within a schema.
const MAX_DEPTH: usize = 64;

/// How much of a value or a list of choices is shown.
const MAX_SHOWN: usize = 120;

/// What is known of a value before a call is made.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// All of it.
    Value(Value),
    /// Nothing: it is computed later.
    Unknown,
    /// A list of such.
    Items(Vec<Known>),
    /// An object of such.
    Entries(Vec<(String, Known)>),
}

/// One reason why arguments do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Where in the arguments, as `.key[0]`; empty for all of them.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

/// Every reason why `arguments` cannot fit `schema`.
#[must_use]
pub fn misfits(schema: &Value, arguments: &Known) -> Vec<Misfit> {
    let mut check = Check { root: schema, steps: 0 };
    let mut found = Vec::new();
    check.value(schema, arguments, "", 0, &mut found);
    found
}

struct Check<'a> {
    root: &'a Value,
    steps: usize,
}

impl<'a> Check<'a> {
    fn value(
        &mut self,
        schema: &'a Value,
        known: &Known,
        path: &str,
        depth: usize,
        found: &mut Vec<Misfit>,
    ) {
        self.steps += 1;
        if self.steps > MAX_STEPS || depth > MAX_DEPTH || *known == Known::Unknown {
            return;
        }
        let Value::Object(schema) = schema else {
            if *schema == Value::Bool(false) {
                found.push(misfit(path, "nothing is accepted here"));
            }
            return;
        };
        if let Some(target) = schema.get("$ref").and_then(|name| self.resolve(name)) {
            self.value(target, known, path, depth + 1, found);
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.value(part, known, path, depth + 1, found);
        }
        for keyword in ["anyOf", "oneOf"] {
            if let Some(forms) = schema.get(keyword).and_then(Value::as_array) {
                self.one_of(forms, known, path, depth, found);
            }
        }
        if let Some(message) = wrong_kind(schema, known).or_else(|| wrong_choice(schema, known)) {
            found.push(misfit(path, message));
            return;
        }
        match known {
            Known::Value(Value::Object(entries)) => {
                let entries: Vec<(String, Known)> = entries
                    .iter()
                    .map(|(key, value)| (key.clone(), Known::Value(value.clone())))
                    .collect();
                self.entries(schema, &entries, path, depth, found);
            }
            Known::Entries(entries) => self.entries(schema, entries, path, depth, found),
            Known::Value(Value::Array(items)) => {
                let items: Vec<Known> = items.iter().cloned().map(Known::Value).collect();
                self.items(schema, &items, path, depth, found);
            }
            Known::Items(items) => self.items(schema, items, path, depth, found),
            Known::Value(value) => {
                found.extend(out_of_range(schema, value).map(|message| misfit(path, message)));
            }
            Known::Unknown => {}
        }
    }

    /// A reference within the same schema; others are never followed.
    fn resolve(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    fn one_of(
        &mut self,
        forms: &'a [Value],
        known: &Known,
        path: &str,
        depth: usize,
        found: &mut Vec<Misfit>,
    ) {
        let mut nearest: Option<Vec<Misfit>> = None;
        for form in forms {
            let mut misfits = Vec::new();
            self.value(form, known, path, depth + 1, &mut misfits);
            if misfits.is_empty() {
                return;
            }
            // The form that gets furthest into the value is the one that was meant.
            let reach = |misfits: &[Misfit]| misfits.iter().map(|it| it.path.len()).max();
            if nearest.as_ref().is_none_or(|nearest| reach(nearest) < reach(&misfits)) {
                nearest = Some(misfits);
            }
        }
        match nearest {
            Some(misfits) if forms.len() == 1 || misfits.iter().any(|it| it.path != path) => {
                found.extend(misfits);
            }
            Some(_) => found.push(misfit(path, format!("{} fits none of its forms", shown(known)))),
            None => {}
        }
    }

    fn entries(
        &mut self,
        schema: &'a Map<String, Value>,
        entries: &[(String, Known)],
        path: &str,
        depth: usize,
        found: &mut Vec<Misfit>,
    ) {
        let given: HashSet<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
        let properties = schema.get("properties").and_then(Value::as_object);
        // Some servers list as required what they fill in themselves.
        let has_default = |name: &str| {
            properties.and_then(|all| all.get(name)).is_some_and(|it| it.get("default").is_some())
        };
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !given.contains(name) && !has_default(name) {
                found.push(misfit(path, format!("'{name}' is missing")));
            }
        }
        let additional = schema.get("additionalProperties");
        let has_patterns = schema.contains_key("patternProperties");
        for (key, value) in entries {
            let inner = format!("{path}.{key}");
            match properties.and_then(|properties| properties.get(key)) {
                Some(property) => self.value(property, value, &inner, depth + 1, found),
                None if has_patterns => {}
                None if additional == Some(&Value::Bool(false)) => {
                    let names = properties.into_iter().flat_map(Map::keys);
                    found.push(misfit(path, unknown_name(key, names)));
                }
                None => {
                    if let Some(additional) = additional {
                        self.value(additional, value, &inner, depth + 1, found);
                    }
                }
            }
        }
    }

    fn items(
        &mut self,
        schema: &'a Map<String, Value>,
        items: &[Known],
        path: &str,
        depth: usize,
        found: &mut Vec<Misfit>,
    ) {
        let count = u64::try_from(items.len()).unwrap_or(u64::MAX);
        let bound = |keyword| schema.get(keyword).and_then(Value::as_u64);
        if let Some(least) = bound("minItems").filter(|least| count < *least) {
            found.push(misfit(path, format!("has {count} items, at least {least} are needed")));
        }
        if let Some(most) = bound("maxItems").filter(|most| count > *most) {
            found.push(misfit(path, format!("has {count} items, at most {most} are accepted")));
        }
        // With `prefixItems` the first ones have schemas of their own.
        let Some(each) = schema.get("items").filter(|_| !schema.contains_key("prefixItems")) else {
            return;
        };
        for (index, item) in items.iter().enumerate() {
            self.value(each, item, &format!("{path}[{index}]"), depth + 1, found);
        }
    }
}

fn misfit(path: &str, message: impl Into<String>) -> Misfit {
    Misfit { path: path.to_owned(), message: message.into() }
}

/// What JSON Schema calls the kind of a value.
fn kind(known: &Known) -> &'static str {
    match known {
        Known::Unknown => "",
        Known::Items(_) | Known::Value(Value::Array(_)) => "array",
        Known::Entries(_) | Known::Value(Value::Object(_)) => "object",
        Known::Value(Value::Null) => "null",
        Known::Value(Value::Bool(_)) => "boolean",
        Known::Value(Value::String(_)) => "string",
        Known::Value(Value::Number(number)) => {
            let whole = number.as_f64().is_none_or(|number| number.fract() == 0.0);
            if whole { "integer" } else { "number" }
        }
    }
}

fn wrong_kind(schema: &Map<String, Value>, known: &Known) -> Option<String> {
    let accepted: Vec<&str> = match schema.get("type")? {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let kind = kind(known);
    let fits = |accepted: &&str| *accepted == kind || (*accepted == "number" && kind == "integer");
    if accepted.is_empty() || accepted.iter().any(fits) {
        return None;
    }
    Some(format!("{} is of type {kind}, not {}", shown(known), accepted.join(" or ")))
}

fn wrong_choice(schema: &Map<String, Value>, known: &Known) -> Option<String> {
    let Known::Value(value) = known else { return None };
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.iter().any(|choice| is_equal(choice, value))
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        return Some(format!("{} is not one of {}", shown(known), cut(&choices.join(", "))));
    }
    let only = schema.get("const").filter(|only| !is_equal(only, value))?;
    Some(format!("{} is not {}", shown(known), cut(&only.to_string())))
}

fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        // 1 and 1.0 are the same number to a schema.
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| Some(one) == other.as_f64())
        }
        _ => one == other,
    }
}

fn out_of_range(schema: &Map<String, Value>, value: &Value) -> Option<String> {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    match value {
        Value::Number(number) => {
            let number = number.as_f64()?;
            let wrong = [
                ("less than", bound("minimum").filter(|least| number < *least)),
                ("more than", bound("maximum").filter(|most| number > *most)),
                ("not more than", bound("exclusiveMinimum").filter(|least| number <= *least)),
                ("not less than", bound("exclusiveMaximum").filter(|most| number >= *most)),
            ];
            let (how, bound) = wrong.into_iter().find_map(|(how, bound)| Some((how, bound?)))?;
            Some(format!("{value} is {how} {bound}"))
        }
        Value::String(text) => {
            let length = text.chars().count() as f64;
            if let Some(least) = bound("minLength").filter(|least| length < *least) {
                return Some(format!("has {length} characters, at least {least} are needed"));
            }
            let most = bound("maxLength").filter(|most| length > *most)?;
            Some(format!("has {length} characters, at most {most} are accepted"))
        }
        _ => None,
    }
}

fn unknown_name<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> String {
    let name = cut(name);
    let nearest = known
        .map(|known| (strsim::jaro_winkler(&name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|one, other| one.0.total_cmp(&other.0));
    match nearest {
        Some((_, nearest)) => format!("'{name}' is not accepted; did you mean '{nearest}'?"),
        None => format!("'{name}' is not accepted"),
    }
}

fn shown(known: &Known) -> String {
    match known {
        Known::Value(value) => cut(&value.to_string()),
        Known::Items(_) => "the list".to_owned(),
        Known::Entries(_) => "the object".to_owned(),
        Known::Unknown => "it".to_owned(),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
