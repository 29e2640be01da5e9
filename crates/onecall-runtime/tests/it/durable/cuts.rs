//! Runs that are cut off after every event of their journal and continued: each effect happens once.

use std::collections::BTreeMap;
use std::sync::Arc;

use onecall_core::{JournalEvent, Language, Program};
use serde_json::{Value, json};

use super::desk::{Desk, approve};
use super::store::MemoryStore;
use super::world::{Process, Tools, word};

/// The effects of the calls in a journal that have ended, and of those that were sent and have not.
fn effects(events: &[JournalEvent]) -> (Vec<Value>, Vec<Value>) {
    let mut sent = BTreeMap::new();
    let mut ended = Vec::new();
    let mut arguments = BTreeMap::new();
    for event in events {
        match event {
            JournalEvent::Called(call) => {
                arguments.insert(call.id, call.arguments.clone());
            }
            JournalEvent::Sent { call } => {
                let arguments: Value = serde_json::from_str(&arguments[call]).unwrap();
                sent.insert(*call, arguments["id"].clone());
            }
            JournalEvent::Ended { call, .. } => ended.extend(sent.remove(call)),
            JournalEvent::Engine(_)
            | JournalEvent::Cancelled { .. }
            | JournalEvent::Observed { .. } => {}
        }
    }
    (ended, sent.into_values().collect())
}

fn sorted(mut effects: Vec<Value>) -> Vec<String> {
    effects.sort_by_key(ToString::to_string);
    effects.iter().map(ToString::to_string).collect()
}

/// Runs a program, cuts its journal off after every event, and continues each of these runs; once as if
/// the calls under way had happened, and once as if they had not.
async fn check_every_cut(program: &Program, expected: &str) {
    let first = Process::new(Desk::always(approve()));
    let outcome = first.run(program).await;
    assert_eq!((&outcome.result, outcome.stdout.text.as_str()), (&Ok(()), expected));
    first.journal.sync().await.unwrap();
    let events = first.store.events().clone();
    let all_effects = sorted(first.tools.effects());
    for length in 0..=events.len() {
        let before = &events[..length];
        let (ended, under_way) = effects(before);
        for happened in [true, false] {
            let mut effects = ended.clone();
            effects.extend(under_way.iter().filter(|_| happened).cloned());
            let desk = Desk::always(approve());
            *desk.happened.lock().unwrap() = Some(happened);
            let tools = Arc::new(Tools::after(effects));
            let (engines, store) = (first.engines.clone(), MemoryStore::with(before));
            let process = Process::on(engines, tools, Arc::new(desk), store);
            let outcome = process.run(program).await;
            let words: Vec<String> = before.iter().map(word).collect();
            let context = format!("{words:?}, happened: {happened}, {outcome:?}");
            assert_eq!(outcome.result, Ok(()), "{context}");
            assert_eq!(outcome.stdout.text, expected, "{context}");
            assert_eq!(sorted(process.tools.effects()), all_effects, "{context}");
        }
    }
}

#[tokio::test]
async fn calls_one_after_the_other() {
    let code = "
total = 0
for i in (1, 2):
    total += (await mcp__s__read(id=i))['id']
    total += (await mcp__s__pay(id=i * 10))['id']
total += (await mcp__s__delete(id=100))['id']
try:
    await mcp__s__read(id=13)
except ToolError as error:
    print(error)
print(total)
";
    let expected = "'mcp__s__read' failed: thirteen\n133\n";
    check_every_cut(&Program::new(code), expected).await;
}

#[tokio::test]
async fn calls_at_once() {
    let code = "
import asyncio
async def one(id):
    found = await mcp__s__read(id=id)
    deleted = await mcp__s__delete(id=found['id'] * 10)
    return (await mcp__s__pay(id=deleted['id'] * 10))['id']
print(await asyncio.gather(*(one(id) for id in (1, 2, 3))))
print(await asyncio.wait_for(one(4), 60))
";
    check_every_cut(&Program::new(code), "[100, 200, 300]\n400\n").await;
}

#[tokio::test]
async fn typescript_calls_at_once() {
    let code = "
const one = async (id: number) => {
  const found = await mcp__s__read({ id });
  const deleted = await mcp__s__delete({ id: found.id * 10 });
  return (await mcp__s__pay({ id: deleted.id * 10 })).id;
};
const all = await Promise.all([1, 2, 3].map(one));
console.log(JSON.stringify(all));
";
    let program = Program { language: Language::TypeScript, ..Program::new(code) };
    check_every_cut(&program, "[100,200,300]\n").await;
}

#[tokio::test]
async fn a_plan_without_an_interpreter() {
    let request = json!({
        "target_tool": "mcp__s__delete",
        "tool_args": { "id": 5, "of": [
            { "__tool__": "mcp__s__pay", "args": { "id": 3 } },
            { "__tool__": "mcp__s__pay", "args": { "id": 4 } },
        ] },
    });
    let first = Process::new(Desk::always(approve()));
    let answer = first.plan(&request).await.unwrap();
    first.journal.sync().await.unwrap();
    let events = first.store.events().clone();
    assert_eq!(events.len(), 9);
    for length in 0..=events.len() {
        let (mut done, under_way) = effects(&events[..length]);
        done.extend(under_way);
        let desk = Desk::always(approve());
        *desk.happened.lock().unwrap() = Some(true);
        let tools = Arc::new(Tools::after(done));
        let store = MemoryStore::with(&events[..length]);
        let process = Process::with(tools, Arc::new(desk), store);
        let again = process.plan(&request).await.unwrap();
        assert_eq!(again.content.len(), answer.content.len());
        assert_eq!(sorted(process.tools.effects()), ["3", "4", "5"], "cut after {length}");
    }
}
