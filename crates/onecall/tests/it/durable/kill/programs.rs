//! The programs of the kill test. Each computes the ids of its effects from what it has read, from
//! random numbers and from the clock, and prints what became of each effect, so that a run that did
//! something else after it was continued would show.

use serde_json::{Value, json};

/// How a program is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Python, one call after the other.
    Sequential,
    /// Python, with `asyncio.gather`.
    Gather,
    /// Python, with `asyncio.TaskGroup`.
    TaskGroup,
    /// Python, with timeouts that fire.
    WaitFor,
    /// Python, with calls that wait for each other through a queue.
    Queue,
    /// Python, with `asyncio.as_completed` and a semaphore.
    AsCompleted,
    /// Python, with tasks that are cancelled.
    Cancelled,
    /// Python, with calls that are not awaited.
    Blocking,
    /// TypeScript, one call after the other.
    TypeScript,
    /// TypeScript, with `Promise.all`.
    PromiseAll,
    /// TypeScript, with `Promise.race` and timers.
    PromiseRace,
    /// A plan without an interpreter.
    Plan,
    /// A plan with transforms.
    Transforms,
    /// A direct call of an exposed tool.
    Exposed,
}

impl Form {
    pub const ALL: [Self; 14] = [
        Self::Gather,
        Self::Sequential,
        Self::TypeScript,
        Self::TaskGroup,
        Self::WaitFor,
        Self::PromiseAll,
        Self::Plan,
        Self::Queue,
        Self::PromiseRace,
        Self::Transforms,
        Self::Exposed,
        Self::AsCompleted,
        Self::Cancelled,
        Self::Blocking,
    ];

    /// How many effects a program of this form reports.
    pub fn effects(self) -> usize {
        match self {
            Self::Sequential | Self::TypeScript => 5,
            Self::Gather | Self::PromiseAll => 7,
            Self::TaskGroup => 6,
            Self::WaitFor | Self::PromiseRace => 4,
            Self::Queue | Self::AsCompleted => 6,
            Self::Cancelled => 4,
            Self::Blocking => 3,
            Self::Plan => 4,
            Self::Transforms => 2,
            Self::Exposed => 1,
        }
    }

    /// How many effects have happened when a call is denied whose answer is that of a tool.
    pub fn effects_before_denial(self) -> usize {
        match self {
            // The calls that the last one, which asks, waits for.
            Self::Plan => self.effects() - 1,
            _ => 0,
        }
    }

    /// Whether the answer is that of a tool, not what a program prints.
    pub fn is_answer_of_tool(self) -> bool {
        matches!(self, Self::Plan | Self::Transforms | Self::Exposed)
    }
}

/// One program of the kill test.
#[derive(Clone, Debug)]
pub struct TestProgram {
    pub form: Form,
    /// What every id of the program's effects begins with.
    pub prefix: String,
    /// The tool that runs it, and that tool's arguments.
    pub request: (&'static str, Value),
}

impl TestProgram {
    /// The program with this number; Python ones run on one of these engines.
    pub fn new(number: usize, engines: &[&str]) -> Self {
        let form = Form::ALL[number % Form::ALL.len()];
        let prefix = format!("p{number}.");
        let python = |body: &str| {
            let engine = engines[number / Form::ALL.len() % engines.len()];
            let code = format!("{PYTHON}{body}print('end')\n").replace("PREFIX", &prefix);
            ("execute_program", json!({ "code": code, "engine": engine }))
        };
        let typescript = |body: &str| {
            let code =
                format!("{TYPESCRIPT}{body}console.log('end');\n").replace("PREFIX", &prefix);
            ("execute_program", json!({ "code": code, "language": "typescript" }))
        };
        let request = match form {
            Form::Sequential => python(SEQUENTIAL),
            Form::Gather => python(GATHER),
            Form::TaskGroup => python(TASK_GROUP),
            Form::WaitFor => python(WAIT_FOR),
            Form::Queue => python(QUEUE),
            Form::AsCompleted => python(AS_COMPLETED),
            Form::Cancelled => python(CANCELLED),
            Form::Blocking => python(BLOCKING),
            Form::TypeScript => typescript(TS_SEQUENTIAL),
            Form::PromiseAll => typescript(PROMISE_ALL),
            Form::PromiseRace => typescript(PROMISE_RACE),
            Form::Plan => ("proxy", plan(&prefix)),
            Form::Transforms => ("proxy", plan_with_transforms(&prefix)),
            Form::Exposed => {
                let id = format!("{prefix}x");
                ("mcp__counting__sensitive", json!({ "id": id, "ms": 30 }))
            }
        };
        Self { form, prefix, request }
    }
}

const PYTHON: &str = r#"import asyncio, random, time, uuid
look, note = mcp__counting__look, mcp__counting__note
effect, late_effect = mcp__counting__effect, mcp__counting__late_effect
sensitive = mcp__counting__sensitive

order = []

async def new_id(step):
    seen = (await look(id=step, ms=random.randrange(4)))["number"]
    return f"PREFIX{step}.{seen}.{random.randrange(1000)}.{uuid.uuid4().hex[:4]}.{time.time_ns() % 1000}"

async def do(tool, step, ms=0):
    id = await new_id(step)
    try:
        number = (await tool(id=id, ms=ms))["number"]
    except ToolError as error:
        number = 0
        print("denied" if "was denied" in str(error) else f"failed ({error})", id)
    else:
        print("done", id, number)
    order.append(step)
    return number

"#;

const SEQUENTIAL: &str = r#"total = 0
for step in range(4):
    total += await do(effect, f"s{step}-{total}", ms=step * 15)
total += await do(sensitive, f"last-{total}")
"#;

const GATHER: &str = r#"numbers = await asyncio.gather(*[do(effect, f"g{n}", ms=n * 13 % 40) for n in range(4)])
await asyncio.gather(do(sensitive, f"a-{sum(numbers)}"), do(sensitive, f"b-{'-'.join(order)}"))
await do(effect, "-".join(order))
"#;

const TASK_GROUP: &str = r#"async def work(name):
    number = await do(effect, f"{name}1", ms=random.randrange(30))
    await do(note if name == "b" else sensitive, f"{name}2-{number}", ms=5)

async with asyncio.TaskGroup() as group:
    for name in "abc":
        group.create_task(work(name))
"#;

const WAIT_FOR: &str = r#"async def limited(tool, step, ms, seconds):
    id = await new_id(step)
    try:
        number = (await asyncio.wait_for(tool(id=id, ms=ms), seconds))["number"]
        print("done", id, number)
    except TimeoutError:
        print("late", id)
    except ToolError as error:
        print("denied" if "was denied" in str(error) else f"failed ({error})", id)

await limited(late_effect, "w1", 2_000, 0.05)
await limited(effect, "w2", 20, 60)
await limited(sensitive, "w3", 0, 60)
await asyncio.gather(limited(effect, "w4", 2_000, 0.03), asyncio.sleep(0.05))
"#;

const QUEUE: &str = r#"queue = asyncio.Queue()

async def produce():
    for n in range(3):
        await queue.put(await do(effect, f"q{n}", ms=n * 7))

async def consume():
    for n in range(3):
        await do(sensitive if n == 1 else effect, f"c{n}-{await queue.get()}")

await asyncio.gather(produce(), consume())
"#;

const AS_COMPLETED: &str = r#"limit = asyncio.Semaphore(2)

async def limited(n):
    async with limit:
        return await do(effect, f"a{n}", ms=random.randrange(40))

for n, done in enumerate(asyncio.as_completed([limited(n) for n in range(5)])):
    number = await done
await do(sensitive, f"{number}-{'-'.join(order)}")
"#;

const CANCELLED: &str = r#"async def cancellable(tool, step, ms):
    id = f"PREFIX{step}"
    try:
        id = await new_id(step)
        print("done", id, (await tool(id=id, ms=ms))["number"])
    except asyncio.CancelledError:
        print("late", id)
        raise
    except ToolError as error:
        print("denied" if "was denied" in str(error) else f"failed ({error})", id)

slow = asyncio.create_task(cancellable(effect, "c1", 2_000))
asking = asyncio.create_task(cancellable(sensitive, "c2", 0))
await do(effect, "c3", ms=30)
slow.cancel()
asking.cancel()
await asyncio.gather(slow, asking, return_exceptions=True)
await do(effect, f"c4-{slow.cancelled()}-{asking.cancelled()}")
"#;

const BLOCKING: &str = r#"total = 0
for step in range(2):
    seen = tools.mcp__counting__look(id="b")["number"]
    id = f"PREFIXb{step}.{seen}.{total}.{random.random()}"
    number = tools.mcp__counting__effect(id=id, ms=20)["number"]
    print("done", id, number)
    total += number
await do(sensitive, f"last-{total}")
"#;

const TYPESCRIPT: &str = r#"const order: string[] = [];

async function newId(step: string): Promise<string> {
  const seen = (await mcp__counting__look({ id: step, ms: Math.floor(Math.random() * 4) })).number;
  const random = Math.floor(Math.random() * 1000);
  return `PREFIX${step}.${seen}.${random}.${crypto.randomUUID().slice(0, 4)}.${Date.now() % 1000}`;
}

async function run(tool: any, step: string, ms = 0): Promise<number> {
  const id = await newId(step);
  let number = 0;
  try {
    number = (await tool({ id, ms })).number;
    console.log(`done ${id} ${number}`);
  } catch (error) {
    console.log(String(error).includes("was denied") ? `denied ${id}` : `failed (${error}) ${id}`);
  }
  order.push(step);
  return number;
}

"#;

const TS_SEQUENTIAL: &str = r#"let total = 0;
for (let step = 0; step < 4; step++) {
  total += await run(mcp__counting__effect, `s${step}-${total}`, step * 15);
}
total += await run(mcp__counting__sensitive, `last-${total}`);
"#;

const PROMISE_ALL: &str = r#"const numbers = await Promise.all(
  [0, 1, 2, 3].map((n) => run(mcp__counting__effect, `g${n}`, (n * 13) % 40)),
);
await Promise.all([
  run(mcp__counting__sensitive, `a-${numbers.reduce((a, b) => a + b)}`),
  run(mcp__counting__sensitive, `b-${order.join("-")}`),
]);
await run(mcp__counting__effect, order.join("-"));
"#;

const PROMISE_RACE: &str = r#"const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms, null));
const slow = run(mcp__counting__effect, "r1", 120);
await Promise.race([slow, sleep(20)]);
const step = order.length === 0 ? "first" : "second";
await run(mcp__counting__effect, `r2-${step}`, 5);
await slow;
await sleep(10);
await run(mcp__counting__sensitive, `r3-${order.join("-")}`);
await run(mcp__counting__late_effect, "r4", 10);
"#;

/// Two calls at once, then one after them, then one that asks.
fn plan(prefix: &str) -> Value {
    let call = |tool: &str, id: &str, ms: u64, after: Value| json!({ "__tool__": format!("mcp__counting__{tool}"), "args": { "id": format!("{prefix}{id}"), "ms": ms, "after": after } });
    let first = [call("effect", "1", 25, json!(0)), call("late_effect", "2", 10, json!(0))];
    let third = call("effect", "3", 5, json!(first));
    json!({
        "target_tool": "mcp__counting__sensitive",
        "tool_args": { "id": format!("{prefix}4"), "after": third },
    })
}

/// A call whose id comes from what another one reads.
fn plan_with_transforms(prefix: &str) -> Value {
    json!({
        "target_tool": "mcp__counting__effect",
        "tool_args": {
            "id": {
                "__tool__": "mcp__counting__sensitive",
                "args": {
                    "id": {
                        "__tool__": "mcp__counting__look",
                        "args": { "id": "l", "ms": 5 },
                        "__transform__": format!("lambda seen: f\"{prefix}t1.{{seen['number']}}\""),
                    },
                    "ms": 20,
                },
                "__transform__": format!("lambda done: f\"{prefix}t2.{{done['number']}}\""),
            },
        },
    })
}
