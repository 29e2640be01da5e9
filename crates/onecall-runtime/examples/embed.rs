//! An application that embeds the runtime: it provides two tools, and runs a program that uses
//! them.
//!
//! ```sh
//! cargo run --ignore-rust-version --package onecall-runtime --example embed
//! ```
//!
//! Programs run in processes that are started from this executable, so `main` begins with
//! [`run_if_zygote`]. To keep the interpreter out of your own executable, give
//! [`EngineSettings::new`] the path of an installed `onecall` instead.

use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;

use onecall_core::{
    Answer, BoxFuture, CallHandler, CallResult, CallableName, OutcomeDetail, Program, Resolution,
    ResolutionFuture, ResolvedCall, RunLimits, ServerName, ToolAnnotations, ToolError, ToolName,
    ToolResolver, ToolSpec, ToolValue,
};
use onecall_engine::{EngineSettings, Engines, run_if_zygote};
use onecall_runtime::{NoopObserver, Runtime, Transcript};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};

/// A program as a model might write it.
const PROGRAM: &str = r#"
import asyncio
orders = await find_orders(region="EU")
rates = await asyncio.gather(*(exchange_rate(currency=order["currency"]) for order in orders))
total = sum(order["amount"] * rate for order, rate in zip(orders, rates))
print(f"{len(orders)} orders, {total:.2f} EUR")
total
"#;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    if let Some(code) = run_if_zygote() {
        return Ok(code);
    }
    run()?;
    Ok(ExitCode::SUCCESS)
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<(), Box<dyn Error>> {
    let engines = Engines::new(EngineSettings::new(std::env::current_exe()?));
    let runtime = Runtime::new(Arc::new(engines), Arc::new(Shop), RunLimits::default());
    // A whole outcome contains the value of the last expression, and every call with its answer.
    let program = Program { detail: OutcomeDetail::Whole, ..Program::new(PROGRAM) };
    let outcome = runtime.run(&program, &NoopObserver).await;
    serde_json::to_writer_pretty(std::io::stdout(), &Transcript::new(&outcome, None))?;
    Ok(())
}

/// A host with two tools.
struct Shop;

impl ToolResolver for Shop {
    fn resolve<'a>(&'a self, name: &'a CallableName) -> ResolutionFuture<'a> {
        let (description, properties) = match name.as_str() {
            "find_orders" => ("Orders of a region", json!({ "region": { "type": "string" } })),
            "exchange_rate" => ("Euros for one", json!({ "currency": { "type": "string" } })),
            _ => return ResolutionFuture::ready(Resolution::unknown(Vec::new())),
        };
        ResolutionFuture::ready(Resolution::Callable(Arc::new(ToolSpec {
            callable: name.clone(),
            server: ServerName::new("shop"),
            tool: ToolName::new(name.as_str()),
            description: Some(description.into()),
            input_schema: json!({ "type": "object", "properties": properties }).into(),
            output_schema: None,
            annotations: ToolAnnotations {
                read_only_hint: Some(true),
                ..ToolAnnotations::default()
            },
        })))
    }

    fn revision(&self) -> u64 {
        // The tools never change.
        0
    }
}

impl CallHandler for Shop {
    fn call(&self, call: ResolvedCall) -> BoxFuture<'_, CallResult> {
        Box::pin(async move {
            // The arguments come from a program, so they are untrusted input.
            let failed = |why: serde_json::Error| ToolError::failed(&call.name, why.to_string());
            let arguments: Value = serde_json::from_str(call.arguments.get()).map_err(failed)?;
            let answer = match call.name.as_str() {
                "find_orders" => find_orders(&arguments),
                "exchange_rate" => exchange_rate(&arguments),
                _ => return Err(ToolError::NotAvailable { name: call.name }),
            };
            let answer = answer.map_err(|why| ToolError::failed(&call.name, why))?;
            Ok(Answer::live(ToolValue::Json(to_raw_value(&answer).map_err(failed)?)))
        })
    }
}

fn find_orders(arguments: &Value) -> Result<Value, &'static str> {
    match arguments["region"].as_str() {
        Some("EU") => Ok(json!([
            { "amount": 100, "currency": "EUR" },
            { "amount": 250, "currency": "SEK" },
        ])),
        Some(_) => Ok(json!([])),
        None => Err("which region?"),
    }
}

fn exchange_rate(arguments: &Value) -> Result<Value, &'static str> {
    match arguments["currency"].as_str() {
        Some("EUR") => Ok(json!(1.0)),
        Some("SEK") => Ok(json!(0.5)),
        _ => Err("no such currency"),
    }
}
