//! What a model reads and writes in one conversation, counted as a client sends it: each request
//! contains the instructions, the definitions of the tools, and everything before.

use std::fmt::Write;

use serde_json::{Value, json};
use tiktoken_rs::{CoreBPE, o200k_base_singleton};

/// One request to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tokens that the model reads.
    pub context: usize,
    /// Tokens that it writes.
    pub output: usize,
}

/// A conversation in progress.
pub struct Conversation {
    tokenizer: &'static CoreBPE,
    /// The tokens of instructions and definitions, which are part of every request.
    pub fixed_tokens: usize,
    /// The tokens of everything after them so far.
    history_tokens: usize,
    /// The tokens of tool results, which are part of that.
    pub results: usize,
    /// How many tools the model has called.
    pub calls: usize,
    pub requests: Vec<Request>,
    /// The whole conversation as text, to see what was counted.
    pub transcript: String,
}

/// The author of a message in a conversation.
#[derive(Clone, Copy, Debug)]
enum Author {
    Instructions,
    User,
    Model,
    Tool,
}

impl Conversation {
    /// A conversation whose model has these tools of these servers. Of a definition it sees the
    /// fields that the APIs of models support.
    pub fn new(instructions: &str, tools: &[(&str, Value)]) -> Self {
        let definitions: Vec<String> = tools
            .iter()
            .map(|(server, tool)| {
                let name = callable(server, tool["name"].as_str().unwrap_or_default());
                let (description, schema) = (&tool["description"], &tool["inputSchema"]);
                json!({ "name": name, "description": description, "input_schema": schema })
                    .to_string()
            })
            .collect();
        let mut conversation = Self {
            tokenizer: o200k_base_singleton(),
            fixed_tokens: 0,
            history_tokens: 0,
            results: 0,
            calls: 0,
            requests: Vec::new(),
            transcript: String::new(),
        };
        for text in definitions.iter().map(String::as_str).chain([instructions]) {
            conversation.fixed_tokens += conversation.count(Author::Instructions, text);
        }
        conversation
    }

    /// Adds a message of the user.
    pub fn ask(&mut self, text: &str) {
        self.history_tokens += self.count(Author::User, text);
    }

    /// Adds a request in which the model calls these tools.
    pub fn call<'a>(&mut self, calls: impl IntoIterator<Item = (&'a str, &'a Value)>) {
        let written: Vec<String> = calls
            .into_iter()
            .map(|(tool, input)| json!({ "name": tool, "input": input }).to_string())
            .collect();
        self.calls += written.len();
        let output = written.iter().map(|call| self.count(Author::Model, call)).sum();
        self.request(output);
    }

    /// Adds the result of a tool.
    pub fn result(&mut self, text: &str) {
        let tokens = self.count(Author::Tool, text);
        self.results += tokens;
        self.history_tokens += tokens;
    }

    /// Adds a request in which the model answers the user.
    pub fn answer(&mut self, text: &str) {
        let output = self.count(Author::Model, text);
        self.request(output);
    }

    fn request(&mut self, output: usize) {
        self.requests.push(Request { context: self.fixed_tokens + self.history_tokens, output });
        self.history_tokens += output;
    }

    /// Counts a text and adds it to the transcript.
    fn count(&mut self, author: Author, text: &str) -> usize {
        let tokens = self.tokenizer.encode_ordinary(text).len();
        let _ = writeln!(self.transcript, "--- {author:?}, {tokens} tokens\n{text}");
        tokens
    }
}

/// The name under which clients show a server's tool to the model.
pub fn callable(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{tool}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_is_read_again_with_every_request() {
        let mut conversation = Conversation::new("one two", &[]);
        conversation.ask("three four five");
        conversation.call([("six", &json!({}))]);
        conversation.result("seven");
        conversation.answer("eight nine");
        let call = conversation.requests[0].output;
        assert_eq!(
            conversation.requests,
            [
                Request { context: 2 + 3, output: call },
                Request { context: 2 + 3 + call + 1, output: 2 }
            ]
        );
        assert_eq!(
            (conversation.fixed_tokens, conversation.results, conversation.calls),
            (2, 1, 1)
        );
    }
}
