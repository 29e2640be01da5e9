//! A client over HTTP: one program at a time, each on a connection of its own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::ANSWER_TIMEOUT;
use super::program::Program;

/// A client for the gateway at this address.
#[derive(Clone, Copy)]
pub struct HttpClient(pub SocketAddr);

impl HttpClient {
    /// Runs a program and returns the text of its answer.
    pub fn run(self, id: u64, program: &Program) -> io::Result<String> {
        let mut reader = BufReader::new(self.send(id, program)?);
        let deadline = Instant::now() + ANSWER_TIMEOUT;
        let mut line = String::new();
        while Instant::now() < deadline {
            line.clear();
            if reader.by_ref().take(1 << 20).read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            // The answer is the whole body, or an event of a stream; chunks end with an event, so a
            // message is never split.
            let text = line.strip_prefix("data:").unwrap_or(&line).trim();
            let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
            if message["id"] == id {
                let text = message["result"]["content"][0]["text"].as_str();
                return Ok(text.map_or_else(|| message.to_string(), str::to_owned));
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// Starts a program and disconnects.
    pub fn abandon(self, id: u64, program: &Program, after: Duration) -> io::Result<()> {
        let stream = self.send(id, program)?;
        std::thread::sleep(after);
        drop(stream);
        Ok(())
    }

    fn send(self, id: u64, program: &Program) -> io::Result<TcpStream> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "soak", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let arguments = &program.arguments;
        let params = json!({ "name": "execute_program", "arguments": arguments, "_meta": meta });
        let body = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
            .to_string();
        let mut stream = TcpStream::connect_timeout(&self.0, ANSWER_TIMEOUT)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: execute_program\r\nContent-Length: {}\r\n\r\n",
            self.0,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes())?;
        Ok(stream)
    }
}
