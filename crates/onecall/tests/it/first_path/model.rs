//! A stand-in for the model behind Claude Code, which needs no account: it asks for one program and,
//! when it has the result, says that it is done.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::{Value, json};

/// The tool of onecall as Claude Code names it.
pub const TOOL: &str = "mcp__onecall__execute_program";

/// A running model, for as long as the process lives.
pub struct FakeModel {
    /// The base address of its API.
    pub address: String,
    results: Receiver<String>,
}

impl FakeModel {
    /// Starts a model that asks for the program `code` to be executed.
    pub fn start(code: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let (sender, results) = channel();
        let code = code.to_owned();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (sender, code) = (sender.clone(), code.clone());
                // A client that leaves in the middle is none of the test's business.
                thread::spawn(move || _ = answer(stream, &code, &sender));
            }
        });
        Self { address, results }
    }

    /// What Claude Code has reported as the result of the program.
    pub fn result(&self) -> String {
        self.results.try_recv().expect("Claude Code has reported a result")
    }
}

/// Reads one request and answers it with the next message of the model.
fn answer(stream: TcpStream, code: &str, results: &Sender<String>) -> std::io::Result<()> {
    let body = request_body(&stream)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = tool_result(&request);
    let has_tool = request["tools"].as_array().into_iter().flatten().any(|it| it["name"] == TOOL);
    let block = match result.is_none() && has_tool {
        true => json!({ "type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {} }),
        false => json!({ "type": "text", "text": "" }),
    };
    if let Some(result) = result {
        _ = results.send(result);
    }
    let text = events(&request["model"], &block, code);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close";
    write!(&stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len())
}

fn request_body(stream: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let header = line.split_once(':');
        if let Some((_, value)) = header.filter(|it| it.0.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

/// The text of the tool result in the last message, if it has one.
fn tool_result(request: &Value) -> Option<String> {
    let last = request["messages"].as_array()?.last()?;
    let blocks = last["content"].as_array()?;
    let result = blocks.iter().find(|block| block["type"] == "tool_result")?;
    // A failure comes as a plain text.
    let text = result["content"].as_str().or(result["content"][0]["text"].as_str())?;
    Some(text.to_owned())
}

/// A message with one block, as the events of a stream.
fn events(model: &Value, block: &Value, code: &str) -> String {
    let (reason, delta) = match block["type"] == "tool_use" {
        true => {
            let input = json!({ "code": code }).to_string();
            ("tool_use", json!({ "type": "input_json_delta", "partial_json": input }))
        }
        false => ("end_turn", json!({ "type": "text_delta", "text": "done" })),
    };
    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 1, "output_tokens": 1 },
    });
    let end = json!({ "stop_reason": reason, "stop_sequence": null });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": block }),
        json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": end, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    let event = |event: &Value| {
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
    };
    events.iter().map(event).collect()
}
