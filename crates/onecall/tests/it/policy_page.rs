//! The page about policies: each of its examples decides as the page says.

use std::process::Command;

use crate::support::{Home, finish};

const PAGE: &str = include_str!("../../../../docs/policy.md");

/// A block of the page: the words after its fence, and what is in it.
struct Block {
    words: &'static str,
    text: String,
}

/// The page's sections with their blocks.
fn sections() -> Vec<(&'static str, Vec<Block>)> {
    let mut sections = vec![("", Vec::new())];
    let mut open: Option<Block> = None;
    for line in PAGE.lines() {
        let (_, blocks) = sections.last_mut().expect("there is always one");
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text += &format!("{line}\n"),
            (None, Some(words)) => open = Some(Block { words, text: String::new() }),
            (None, None) => {
                if let Some(title) = line.strip_prefix("### ").or(line.strip_prefix("## ")) {
                    sections.push((title, Vec::new()));
                }
            }
        }
    }
    assert!(open.is_none(), "the last block has no end");
    sections
}

fn test(home: &Home, file: &str) -> Command {
    home.onecall(&["policy", "test", file])
}

/// The tools that the examples are about.
fn tools() -> String {
    let sections = sections();
    let blocks = sections.iter().flat_map(|(_, blocks)| blocks);
    let tools: Vec<&Block> = blocks.filter(|block| block.words == "yaml tools").collect();
    assert_eq!(tools.len(), 1, "the page defines its tools once");
    tools.first().map(|block| block.text.clone()).unwrap_or_default()
}

#[test]
fn every_example_decides_as_the_page_says() {
    let tools = tools();
    let mut tested = Vec::new();
    for (title, blocks) in sections() {
        let policies: Vec<&Block> = blocks.iter().filter(|block| block.words == "cedar").collect();
        let cases: Vec<&Block> =
            blocks.iter().filter(|block| block.words == "yaml cases").collect();
        if policies.is_empty() && cases.is_empty() {
            continue;
        }
        assert!(!policies.is_empty() && cases.len() == 1, "'{title}' needs policies and cases");
        let home = Home::new();
        let text: Vec<&str> = policies.iter().map(|block| block.text.as_str()).collect();
        home.write("work/policy/example.cedar", text.join("\n"));
        home.write("work/test.yaml", format!("policy: ./policy\n{tools}{}", cases[0].text));
        let result = finish(test(&home, "test.yaml"));
        assert_eq!(result.code, Some(0), "{title}:\n{}{}", result.stdout, result.stderr);
        tested.push(title);
    }
    assert!(tested.len() >= 6, "{tested:?}");
}
