//! How programs are written for each server, and where its answer contains their output.

use serde_json::{Value, json};

use super::job::Job;

const SUCCESS: &str = "[Script executed successfully]\n";

/// The language of a program and how it calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Python: tools are async functions, output is printed.
    Python,
    /// TypeScript: tools are async functions, output is printed.
    TypeScript,
    /// FastMCP: Python with one function for all tools; the answer is returned.
    CallTool,
    /// UTCP: TypeScript with synchronous tools; the answer is returned.
    Utcp,
}

impl Dialect {
    /// The tool that runs a program.
    pub fn tool(self) -> &'static str {
        match self {
            Self::Python | Self::TypeScript => "execute_program",
            Self::CallTool | Self::Utcp => "execute",
        }
    }

    pub fn arguments(self, code: &str) -> Value {
        match self {
            Self::TypeScript => json!({ "code": code, "language": "typescript" }),
            _ => json!({ "code": code }),
        }
    }

    /// The output of a program in an answer.
    pub fn output(self, answer: &str) -> &str {
        answer.strip_prefix(SUCCESS).unwrap_or(answer).trim_end()
    }

    pub fn program(self, job: Job) -> String {
        match self {
            Self::Python | Self::CallTool => self.python(job),
            Self::TypeScript | Self::Utcp => self.typescript(job),
        }
    }

    fn python(self, job: Job) -> String {
        let end = |value: &str| match self {
            Self::CallTool => format!("return str({value})"),
            _ => format!("print({value})"),
        };
        let (add, sleep) = match self {
            Self::CallTool => (
                "(await call_tool('add', {'a': i, 'b': 1}))['result']".to_owned(),
                "call_tool('sleep', {'ms': MS})",
            ),
            _ => ("await mcp__fixture__add(a=i, b=1)".to_owned(), "mcp__fixture__sleep(ms=MS)"),
        };
        let nothing_to_wait_for = match self {
            Self::CallTool => "call_tool('add', {'a': i, 'b': 1})",
            _ => "mcp__fixture__add(a=i, b=1)",
        };
        let fetch = match self {
            Self::CallTool => {
                "import json\nrows = json.loads(await call_tool('rows', {'count': N}))"
            }
            _ => "rows = await mcp__fixture__rows(count=N)",
        };
        match job {
            Job::Hello => end("'hello'"),
            Job::Calls(count) => {
                format!("total = 0\nfor i in range({count}):\n    total += {add}\n{}", end("total"))
            }
            Job::AtOnce { calls, ms } => {
                let call = match ms {
                    0 => nothing_to_wait_for.to_owned(),
                    ms => sleep.replace("MS", &ms.to_string()),
                };
                format!(
                    "import asyncio\nanswers = await asyncio.gather(*[{call} for i in range({calls})])\n{}",
                    end("len(answers)")
                )
            }
            Job::Rows(count) => format!(
                "{}\ntotals = {{}}\nfor row in rows:\n    if row['quantity'] >= 10:\n        \
                 region = row['region']\n        \
                 totals[region] = totals.get(region, 0) + row['quantity'] * row['price']\n{}",
                fetch.replace('N', &count.to_string()),
                end("' '.join([f'{region} {totals[region]:.2f}' for region in sorted(totals)])")
            ),
            Job::Steps(count) => {
                format!("s = 0\nfor i in range({count}):\n    s += i\n{}", end("s"))
            }
        }
    }

    fn typescript(self, job: Job) -> String {
        let end = |value: &str| match self {
            Self::Utcp => format!("return String({value})"),
            _ => format!("console.log({value})"),
        };
        let call = |tool: &str, arguments: &str| match self {
            Self::Utcp => format!("peer.fixture_{tool}({{ {arguments} }})"),
            _ => format!("mcp__fixture__{tool}({{ {arguments} }})"),
        };
        match job {
            Job::Hello => end("'hello'"),
            Job::Calls(count) => format!(
                "let total = 0\nfor (let i = 0; i < {count}; i++) total += await {}\n{}",
                call("add", "a: i, b: 1"),
                end("total")
            ),
            Job::AtOnce { calls, ms } => {
                let call = match ms {
                    0 => call("add", "a: i, b: 1"),
                    ms => call("sleep", &format!("ms: {ms}")),
                };
                format!(
                    "const answers = await Promise.all(Array.from({{ length: {calls} }}, (_, i) => {call}))\n{}",
                    end("answers.length")
                )
            }
            Job::Rows(count) => format!(
                "const rows = await {}\nconst totals = {{}}\nfor (const row of rows) {{\n  \
                 if (row.quantity >= 10) {{\n    \
                 totals[row.region] = (totals[row.region] ?? 0) + row.quantity * row.price\n  }}\n}}\n\
                 const lines = Object.keys(totals).sort().map((region) => `${{region}} ${{totals[region].toFixed(2)}}`)\n{}",
                call("rows", &format!("count: {count}")),
                end("lines.join(' ')")
            ),
            Job::Steps(count) => {
                format!("let s = 0\nfor (let i = 0; i < {count}; i++) s += i\n{}", end("s"))
            }
        }
    }
}
