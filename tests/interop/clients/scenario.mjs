// What every JavaScript client does with onecall, the same as in scenario.py; the driver
// of each one says how it does it. What the client made of the server goes to stdout.

import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const SUCCESS = "print(await mcp__fixture__add(20, 22), 'grüße 🦀')";
const FAILURE = "print('before')\nawait mcp__fixture__fail(message='out of paper')";
const STEPS = "for n in range(2):\n    await mcp__fixture__sleep(ms=150)\nprint('done')";
const HANGING = "await mcp__fixture__hang()";

/**
 * Asks for everything once. `call(name, arguments, options)` resolves to the result of a
 * tool; its options are those of both SDKs: onprogress and signal.
 */
export async function play(client, call) {
  const answer = async (name, args, options) => {
    const result = await call(name, args, options);
    return [result.content.map((block) => block.text).join("\n"), result.isError ?? false];
  };
  const told = [];
  const tools = (await client.listTools()).tools.map((tool) => tool.name);
  const search = { query: "add two numbers" };
  const onprogress = ({ progress, message }) => told.push([progress, message]);
  return {
    server: client.getServerVersion().name,
    tools,
    callable: (await answer("list_callable_tools", {}))[0],
    inspected: await answer("inspect_tool", { tool_name: "mcp__fixture__add" }),
    missing: await answer("inspect_tool", { tool_name: "mcp__fixture__ad" }),
    found: tools.includes("search_tools") ? await answer("search_tools", search) : null,
    success: await answer("execute_program", { code: SUCCESS }),
    failure: await answer("execute_program", { code: FAILURE }),
    refusal: await answer("no_such_tool", {}).then(JSON.stringify, reason),
    steps: await answer("execute_program", { code: STEPS }, { onprogress }),
    // How many follow depends on how busy the machine is.
    progress: told[0],
    cancelled: await cancelled(call),
    afterwards: await answer("execute_program", { code: "print('alive')" }),
  };
}

/** What an error says, without the code that one of the SDKs puts before it. */
function reason(error) {
  return error.message.replace(/^MCP error -\d+: /, "");
}

/** Cancels a program as soon as it has called the tool that never answers. */
async function cancelled(call) {
  const abort = new AbortController();
  const options = { signal: abort.signal, onprogress: () => abort.abort("enough") };
  const ended = await call("execute_program", { code: HANGING }, options).then(
    (result) => `answered: ${JSON.stringify(result)}`,
    () => "cancelled",
  );
  await toldToTheTool();
  return ended;
}

/** Returns when the server that has the tool knows, while this client is still connected. */
async function toldToTheTool() {
  const received = process.env.ONECALL_INTEROP_RECEIVED;
  while (!(await readFile(received, "utf8")).includes("notifications/cancelled")) await sleep(50);
}

/** Runs `connect(command, arguments)`, which plays the scenario, and prints what it saw. */
export async function main(connect) {
  const [command, ...args] = process.argv.slice(2);
  setTimeout(() => process.exit(124), 100_000).unref();
  process.stdout.write(JSON.stringify(await connect(command, args)));
}
