// Made by `onecall generate`; changes will be lost.
//
// Calls tools through one `onecall` process, which the first call starts and all share.

import { spawn, type ChildProcess } from "node:child_process";

/** A tool call that failed; the message is what a program in onecall would see. */
export class ToolError extends Error {
  override readonly name: string = "ToolError";
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface Connection {
  child: ChildProcess;
  waiting: Map<number, Waiting>;
  ended: Promise<void>;
}

interface ReferenceCounted {
  ref?(): void;
  unref?(): void;
}

let connection: Connection | undefined;
let lastId = 0;

/** Executes a tool and returns its value. */
export async function call(tool: string, args: object): Promise<unknown> {
  return await request(`"tool":${JSON.stringify(tool)},"arguments":${write(args)}`);
}

/**
 * Executes a tool by its name: `mcp__<server>__<tool>`, `mcp_<server>_<tool>`, or what its
 * server calls it where no other server has a tool of that name.
 */
export async function callMCPTool<T = unknown>(toolName: string, args: object = {}): Promise<T> {
  return (await call(toolName, args)) as T;
}

/**
 * Forgets the answers that onecall keeps of tools whose name contains `pattern`, or of all
 * tools, and returns their number. Calls that are made later are not answered with them,
 * even if nobody awaits this.
 */
export function clearCache(pattern = ""): Promise<number> {
  const cleared = request(`"clear":${JSON.stringify(pattern)}`).then(Number);
  // A failure is for those who await it.
  cleared.catch(() => undefined);
  return cleared;
}

/** Ends the connection, as `close` does. */
export async function disconnectMCP(): Promise<void> {
  await close();
}

/** Ends the connection; the next call opens another one. Calls that wait fail. */
export async function close(): Promise<void> {
  const open = connection;
  if (open === undefined) return;
  connection = undefined;
  keepAlive(open.child, true);
  open.child.stdin?.end();
  const killTimer = setTimeout(() => open.child.kill(), 10_000);
  await open.ended;
  clearTimeout(killTimer);
}

async function request(fields: string): Promise<unknown> {
  const id = ++lastId;
  connection ??= open();
  const { child, waiting } = connection;
  return await new Promise<unknown>((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    keepAlive(child, waiting.size > 0);
    child.stdin?.write(`{"id":${id},${fields}}\n`);
  });
}

function open(): Connection {
  const program = process.env["ONECALL"] ?? "onecall";
  const child = spawn(program, ["calls"], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map<number, Waiting>();
  const ended = new Promise<void>((resolve) => {
    const fail = (why: string): void => {
      if (connection?.child === child) connection = undefined;
      for (const { reject } of waiting.values()) reject(new Error(why));
      waiting.clear();
      resolve();
    };
    child.on("error", (error) => {
      fail(`cannot start '${program}': ${error.message}; put its path into ONECALL`);
    });
    child.on("close", (code) => {
      fail(`'${program} calls' ended (code ${String(code)}); its log says why`);
    });
  });
  // What is written to a process that has gone is answered by its end.
  child.stdin?.on("error", () => undefined);
  let rest: string[] = [];
  child.stdout?.setEncoding("utf8");
  child.stdout?.on("data", (text: string) => {
    const lines = text.split("\n");
    rest.push(lines[0] ?? "");
    for (const next of lines.slice(1)) {
      handleLine(rest.join(""), waiting);
      rest = [next];
    }
    keepAlive(child, waiting.size > 0);
  });
  keepAlive(child, false);
  return { child, waiting, ended };
}

/** An open connection keeps Node.js alive only while a call waits. */
function keepAlive(child: ChildProcess, isBusy: boolean): void {
  const parts = [child, child.stdin, child.stdout] as (ReferenceCounted | null)[];
  for (const part of parts) {
    if (isBusy) part?.ref?.();
    else part?.unref?.();
  }
}

function handleLine(line: string, waiting: Map<number, Waiting>): void {
  const id = Number(line.slice(`{"id":`.length, line.indexOf(",")));
  const caller = waiting.get(id);
  waiting.delete(id);
  try {
    const answer = read(line) as { value?: unknown; content?: unknown; error?: string };
    if (answer.error === undefined) caller?.resolve(withContent(answer.value, answer.content));
    else caller?.reject(new ToolError(answer.error));
  } catch (error) {
    caller?.reject(new Error(`the answer cannot be read: ${String(error)}`));
  }
}

/** The value with all blocks of an answer that has more than text; a number has none. */
function withContent(value: unknown, content: unknown): unknown {
  if (content === undefined) return value;
  const carrier: unknown = typeof value === "string" ? Object(value) : value;
  if (typeof carrier !== "object" || carrier === null || Object.hasOwn(carrier, "content")) return value;
  return Object.defineProperty(carrier, "content", { value: content });
}

// JSON has integers of any size, numbers have not. They travel as objects and strings
// that nobody else can make.
const mark = `big ${Math.random()} ${Math.random()}`;
const numbers = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

function read(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marked = text.replace(numbers, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token))
      ? `{"${mark}":"${token}"}`
      : token,
  );
  return JSON.parse(marked, (_key, value: unknown) => {
    if (typeof value !== "object" || value === null || !(mark in value)) return value;
    return BigInt(String((value as { [key: string]: unknown })[mark]));
  });
}

function write(args: object): string {
  let hasMarks = false;
  const text = JSON.stringify(args, (key, value: unknown) => {
    if (typeof value === "bigint") {
      hasMarks = true;
      return `${mark}${value}`;
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new TypeError(`'${key}' is ${value}, which JSON cannot carry`);
    }
    return value;
  });
  return hasMarks ? text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1") : text;
}
