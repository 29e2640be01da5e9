//! Reads as much of a Dockerfile as `deploy/Dockerfile` uses: which instructions make the image that is
//! built unless a target is named.

use serde_json::Value;

/// An instruction of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Instruction {
    Run(String),
    /// Copies files of another stage to a path.
    Copy {
        sources: Vec<String>,
        target: String,
    },
    User(String),
    Workdir(String),
    Env(Vec<(String, String)>),
    Volume(String),
    /// The command that says whether the container is healthy.
    Healthcheck(Vec<String>),
    Entrypoint(Vec<String>),
    Cmd(Vec<String>),
}

/// The default image: what it is based on, and how it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageRecipe {
    pub(super) base: String,
    pub(super) instructions: Vec<Instruction>,
}

struct Stage {
    name: Option<String>,
    base: String,
    instructions: Vec<Instruction>,
}

/// Reads the recipe of the last stage, with the stages that it is based on.
pub(super) fn read(text: &str) -> Result<ImageRecipe, String> {
    let mut stages: Vec<Stage> = Vec::new();
    for line in logical_lines(text) {
        let (keyword, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let rest = rest.trim();
        if keyword == "FROM" {
            let mut words = rest.split_whitespace();
            let base = words.next().ok_or("FROM without an image")?.to_owned();
            let name = words.nth(1).map(str::to_owned);
            stages.push(Stage { name, base, instructions: Vec::new() });
            continue;
        }
        let stage = stages.last_mut().ok_or_else(|| format!("{keyword} before FROM"))?;
        stage.instructions.extend(instruction(keyword, rest)?);
    }
    let mut stage = stages.last().ok_or("a Dockerfile without FROM")?;
    let mut instructions = stage.instructions.clone();
    while let Some(earlier) = stages.iter().find(|it| it.name.as_ref() == Some(&stage.base)) {
        instructions.splice(..0, earlier.instructions.iter().cloned());
        stage = earlier;
    }
    Ok(ImageRecipe { base: stage.base.clone(), instructions })
}

/// The lines without comments; those that end with a backslash go on.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut current = String::new();
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        match line.strip_suffix('\\') {
            Some(begun) => current.push_str(&format!("{begun} ")),
            None => {
                current.push_str(line);
                lines.push(std::mem::take(&mut current).trim().to_owned());
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

fn instruction(keyword: &str, rest: &str) -> Result<Option<Instruction>, String> {
    Ok(Some(match keyword {
        "RUN" => Instruction::Run(rest.to_owned()),
        "COPY" => {
            let mut paths: Vec<String> = rest
                .split_whitespace()
                .filter(|word| !word.starts_with("--"))
                .map(str::to_owned)
                .collect();
            let target = paths.pop().ok_or("COPY without a target")?;
            Instruction::Copy { sources: paths, target }
        }
        "USER" => Instruction::User(rest.to_owned()),
        "WORKDIR" => Instruction::Workdir(rest.to_owned()),
        "ENV" => {
            let pairs = rest.split_whitespace().filter_map(|pair| pair.split_once('='));
            Instruction::Env(pairs.map(|(name, it)| (name.to_owned(), it.to_owned())).collect())
        }
        "VOLUME" => Instruction::Volume(rest.to_owned()),
        "HEALTHCHECK" => {
            let (_, command) = rest.split_once("CMD").ok_or("HEALTHCHECK without CMD")?;
            Instruction::Healthcheck(words(command)?)
        }
        "ENTRYPOINT" => Instruction::Entrypoint(words(rest)?),
        "CMD" => Instruction::Cmd(words(rest)?),
        // It only tells people which port it is.
        "EXPOSE" => return Ok(None),
        unknown => return Err(format!("the Dockerfile has {unknown}, which is not emulated")),
    }))
}

/// The words of a command that is written as a JSON list.
fn words(text: &str) -> Result<Vec<String>, String> {
    let list: Vec<Value> = serde_json::from_str(text.trim())
        .map_err(|error| format!("{text} is not a JSON list: {error}"))?;
    Ok(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_image_is_the_last_stage_with_its_bases() {
        let text = "\
# A comment.
FROM rust AS build
RUN cargo build

FROM debian:bookworm-slim AS small
RUN one \\
    # in between
    && two
COPY --from=build /src/a /src/b /usr/bin/
USER 10001:10001
ENV A=1 B=2

FROM small AS large
RUN three

FROM small
CMD [\"serve\", \"now\"]
";
        let expected = ImageRecipe {
            base: "debian:bookworm-slim".to_owned(),
            instructions: vec![
                Instruction::Run("one  && two".to_owned()),
                Instruction::Copy {
                    sources: vec!["/src/a".to_owned(), "/src/b".to_owned()],
                    target: "/usr/bin/".to_owned(),
                },
                Instruction::User("10001:10001".to_owned()),
                Instruction::Env(vec![
                    ("A".to_owned(), "1".to_owned()),
                    ("B".to_owned(), "2".to_owned()),
                ]),
                Instruction::Cmd(vec!["serve".to_owned(), "now".to_owned()]),
            ],
        };
        assert_eq!(read(text), Ok(expected));
    }
}
