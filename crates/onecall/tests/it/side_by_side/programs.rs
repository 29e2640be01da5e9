//! The programs of `tests/side-by-side`, and what is stored about each.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// A line that begins a program and names it.
const NAME: &str = "#%% ";

/// A line that says why onecall's answer to the program is better than the reference's.
const BETTER: &str = "#% better: ";

/// A program and why its answer may differ from the reference's.
pub struct Program {
    pub name: String,
    pub code: String,
    pub better: Option<String>,
}

/// The programs of a file, and the stored answers to them.
pub struct Theme {
    pub name: String,
    pub programs: Vec<Program>,
    pub answers: Map<String, Value>,
}

/// A file or folder of `tests/side-by-side`.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/side-by-side").join(name)
}

/// A file of `tests/side-by-side` that is JSON.
pub fn read_json(name: &str) -> Value {
    let text = fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every theme, in order.
pub fn themes() -> Vec<Theme> {
    let entries = fs::read_dir(path("programs")).expect("the folder of programs");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files.iter().map(|file| Theme::read(file)).collect()
}

impl Theme {
    fn read(file: &Path) -> Self {
        let name = file.file_stem().expect("a file's name").to_string_lossy().into_owned();
        let text = fs::read_to_string(file).expect("programs are text");
        let Value::Object(answers) = read_json(&format!("answers/{name}.json")) else {
            panic!("the answers of {name} are an object");
        };
        Self { programs: programs(&text), name, answers }
    }

    /// Writes the answers as `record.py` does.
    pub fn store(&self) {
        let mut text = serde_json::to_string_pretty(&self.answers).expect("answers are JSON");
        text.push('\n');
        fs::write(path(&format!("answers/{}.json", self.name)), text).expect("a writable folder");
    }
}

fn programs(text: &str) -> Vec<Program> {
    let mut found = Vec::<Program>::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.strip_prefix(NAME) {
            let name = name.trim().to_owned();
            assert!(found.iter().all(|it| it.name != name), "two programs are called {name}");
            found.push(Program { name, code: String::new(), better: None });
            continue;
        }
        let program = found.last_mut().expect("a file begins with a program's name");
        match line.strip_prefix(BETTER) {
            Some(reason) => program.better = Some(reason.trim().to_owned()),
            None => program.code.push_str(line),
        }
    }
    for program in &mut found {
        program.code = format!("{}\n", program.code.trim_matches('\n'));
    }
    found
}
