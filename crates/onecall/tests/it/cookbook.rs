//! The cookbook: each of its programs prints what the page says it prints.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::bins;
use testkit::mcp::Session;

use crate::support::{Home, finish, printed};

const PAGE: &str = include_str!("../../../../docs/cookbook.md");

/// A block of the page: the words after its fence, and what is in it.
struct Block {
    words: &'static str,
    text: String,
}

/// A section of the page, by its heading.
struct Recipe {
    title: &'static str,
    blocks: Vec<Block>,
}

/// What stands above the first heading, then section by section.
fn recipes() -> Vec<Recipe> {
    let mut recipes = vec![Recipe { title: "", blocks: Vec::new() }];
    let mut open: Option<Block> = None;
    for line in PAGE.lines() {
        let recipe = recipes.last_mut().expect("there is always one");
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => recipe.blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(words)) => open = Some(Block { words, text: String::new() }),
            (None, None) => {
                if let Some(title) = line.strip_prefix("## ") {
                    recipes.push(Recipe { title, blocks: Vec::new() });
                }
            }
        }
    }
    assert!(open.is_none(), "the last block has no end");
    recipes
}

/// Runs the programs of the page after the setup that it describes.
struct CookbookRunner {
    home: Home,
    /// What the programs of a session are sent to.
    agent: Option<Session>,
}

impl CookbookRunner {
    fn new(configuration: &str) -> Self {
        let home = Home::new();
        home.write("work/cookbook.yaml", configuration);
        std::fs::create_dir(home.path("work/reports")).unwrap();
        Self { home, agent: None }
    }

    fn onecall(&self, arguments: &[&str]) -> Command {
        let mut command = self.home.onecall(arguments);
        let servers = bins::find("workplace-server");
        let folder = servers.parent().map(Path::to_path_buf);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = folder.into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(folders).unwrap());
        command.args(["--config", "cookbook.yaml"]);
        command
    }

    /// All that comes of a program, where the page has the block `output`.
    fn run(&mut self, program: &Block, output: &Block) -> String {
        let (arguments, file): (&[&str], _) = match (program.words, output.words) {
            ("python", "text") => (&["run"], "program.py"),
            ("python", "text dry-run") => (&["run", "--dry-run"], "program.py"),
            ("ts", "text") => (&["run"], "program.ts"),
            ("json", "text") => (&["proxy"], "plan.json"),
            ("python session", "text") => return self.run_in_session(&program.text),
            words => panic!("nobody knows how to run {words:?}"),
        };
        self.home.write(&format!("work/{file}"), &program.text);
        let ended = finish(self.onecall(&[arguments, &[file]].concat()));
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stdout
    }

    /// Runs a program in a session, where it shares its variables with the program before.
    fn run_in_session(&mut self, code: &str) -> String {
        let command = self.onecall(&["serve"]);
        let agent = self.agent.get_or_insert_with(|| Session::open(command));
        let arguments = json!({ "code": code, "session": "orders" });
        printed(&agent.call_tool("execute_program", arguments))
    }
}

#[test]
fn every_program_prints_what_the_page_says() {
    let recipes = recipes();
    let is_configuration = |block: &&Block| block.words == "yaml";
    let configuration = recipes[0].blocks.iter().find(is_configuration).expect("a configuration");
    let is_output = |block: &&Block| block.words.starts_with("text");
    let mut programs = Vec::new();
    for recipe in &recipes[1..] {
        let mut runner = CookbookRunner::new(&configuration.text);
        let mut blocks = recipe.blocks.iter().peekable();
        while let Some(program) = blocks.next() {
            programs.push(program.words);
            assert!(blocks.peek().is_some_and(is_output), "{}: and then?", recipe.title);
            while let Some(output) = blocks.next_if(is_output) {
                assert_eq!(runner.run(program, output), output.text, "{}", recipe.title);
            }
        }
    }
    let count = |words: &str| programs.iter().filter(|program| **program == words).count();
    assert!(programs.len() >= 10, "{programs:?}");
    assert_eq!((count("ts"), count("json")), (3, 1));
}
