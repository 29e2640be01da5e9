//! The cases of `tests/attacks`, as they are written there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::TYPESCRIPT;
use super::environment::AttackEnvironment;

/// Begins a program of several in a file, or its answer.
const CELL: &str = "# %% ";

/// The line that begins a program in TypeScript.
const TYPESCRIPT_CELL: &str = "// %% ";

/// The keys that `case.json` may have.
const KEYS: [&str; 6] =
    ["attacks", "would_gain", "engines", "execution", "tools", "gateway_may_use_mb"];

/// A case: one folder of `tests/attacks`.
#[derive(Clone)]
pub struct Case {
    /// Numbers of the list of attacks.
    pub attacks: Vec<u64>,
    /// What the attacker would gain, in a few words.
    pub would_gain: String,
    /// Limits and policy of the gateway that is attacked.
    pub config: Value,
    /// How many megabytes more the gateway may use while a program of this case runs.
    pub gateway_may_use_mb: Option<u64>,
    /// Its programs, which run in this order on one gateway.
    pub cells: Vec<Cell>,
}

/// One program and its expected answer.
#[derive(Clone)]
pub struct Cell {
    /// The names of the case and the cell.
    pub id: String,
    /// With placeholders.
    pub code: String,
    /// The whole answer, as [`expectation`](super::expectation) reads it.
    pub answer: String,
}

impl Cell {
    /// The name of its case.
    pub fn case(&self) -> &str {
        self.id.split('/').next().unwrap_or_default()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/attacks")
}

/// Every case that fits the engine, with the answers that are expected in an environment.
pub fn cases(engine: &str, environment: &AttackEnvironment) -> Vec<Case> {
    let entries = fs::read_dir(folder()).expect("the folder of attacks");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.is_dir())
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| read(path, engine, environment)).collect()
}

fn read(path: &Path, engine: &str, environment: &AttackEnvironment) -> Option<Case> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let description: Map<String, Value> =
        serde_json::from_str(&text(&path.join("case.json"))).expect("case.json is an object");
    let unknown = description.keys().find(|key| !KEYS.contains(&key.as_str()));
    assert_eq!(unknown, None, "in {name}/case.json");
    let field = |key: &str| description.get(key).cloned().unwrap_or_default();
    let fits = |engines: &Vec<Value>| engines.iter().any(|other| other == engine);
    if !field("engines").as_array().is_none_or(fits) {
        return None;
    }
    if engine == TYPESCRIPT && !path.join("program.ts").exists() {
        return None;
    }
    let numbers = field("attacks").as_array().cloned().unwrap_or_default();
    Some(Case {
        attacks: numbers.iter().filter_map(Value::as_u64).collect(),
        would_gain: field("would_gain").as_str().expect("would_gain is a text").to_owned(),
        config: json!({ "execution": field("execution"), "tools": field("tools") }),
        gateway_may_use_mb: field("gateway_may_use_mb").as_u64(),
        cells: cells(&name, path, engine, environment),
    })
}

/// What precedes the first cell of `program.py` is the beginning of each, and an
/// answer that precedes the first cell of `answer.txt` is that of all others.
/// `answer.ENGINE.txt` has those that differ on an engine, and those with `container` before
/// `txt` those that differ in a container.
fn cells(name: &str, path: &Path, engine: &str, environment: &AttackEnvironment) -> Vec<Cell> {
    let (file, mark) = match engine {
        TYPESCRIPT => ("program.ts", TYPESCRIPT_CELL),
        _ => ("program.py", CELL),
    };
    let program = text(&path.join(file));
    let (beginning, mut programs) = split(&program, mark);
    if programs.is_empty() {
        programs.push(("", ""));
    }
    let mut answers = BTreeMap::new();
    let mut files = vec![format!("answer.{engine}")];
    if engine != TYPESCRIPT {
        // Its programs are others.
        files.insert(0, "answer".to_owned());
    }
    if let AttackEnvironment::Container(_) = environment {
        files = files.into_iter().flat_map(|name| [name.clone(), name + ".container"]).collect();
    }
    let files: Vec<_> = files.iter().map(|name| path.join(format!("{name}.txt"))).collect();
    for file in files.iter().filter(|file| file.exists()) {
        let answer = text(file);
        let (general, particular) = split(&answer, CELL);
        if !general.is_empty() {
            answers.insert(String::new(), general.to_owned());
        }
        answers.extend(particular.iter().map(|(cell, text)| (cell.to_string(), text.to_string())));
    }
    let cell = |(cell, code): (&str, &str)| {
        let id = if cell.is_empty() { name.to_owned() } else { format!("{name}/{cell}") };
        let answer = answers.get(cell).or_else(|| answers.get(""));
        let answer = answer.unwrap_or_else(|| panic!("{id} has no answer")).clone();
        Cell { id, code: format!("{beginning}{code}"), answer }
    };
    programs.into_iter().map(cell).collect()
}

/// What precedes the first cell, and the cells by name.
fn split<'a>(text: &'a str, mark: &str) -> (&'a str, Vec<(&'a str, &'a str)>) {
    let Some(start) = find_cell(text, mark) else { return (text, Vec::new()) };
    let (beginning, mut rest) = text.split_at(start);
    let mut cells = Vec::new();
    while let Some(cell) = rest.strip_prefix(mark) {
        let (name, body) = cell.split_once('\n').expect("a cell has lines");
        let end = find_cell(body, mark).unwrap_or(body.len());
        let (body, more) = body.split_at(end);
        cells.push((name.trim(), body));
        rest = more;
    }
    (beginning, cells)
}

fn find_cell(text: &str, mark: &str) -> Option<usize> {
    let is_cell = |at: &usize| *at == 0 || text.as_bytes()[at - 1] == b'\n';
    text.match_indices(mark).map(|(at, _)| at).find(is_cell)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What programs share: `{{attempt}}`.
pub fn attempt() -> String {
    text(&folder().join("attempt.py"))
}
