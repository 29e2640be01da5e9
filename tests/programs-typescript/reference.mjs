// Prints what Node prints for a program, its tools answered by a fixture server.
//
//   node reference.mjs FIXTURE_SERVER PROGRAM.mjs      one program
//   node reference.mjs --write FIXTURE_SERVER          writes every NAME.out; takes the types
//                                                      out of NAME.ts with esbuild, from npm
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));

if (process.argv[2] === "--write") writeAll(process.argv[3]);
else await run(process.argv[2], process.argv[3]);

function writeAll(server) {
  const folder = mkdtempSync(path.join(tmpdir(), "programs-"));
  for (const file of readdirSync(here).sort()) {
    const kind = path.extname(file);
    if ((kind !== ".ts" && kind !== ".mjs") || file === "reference.mjs") continue;
    let program = path.join(here, file);
    const name = path.basename(file, kind);
    if (kind === ".ts") {
      const stripped = path.join(folder, `${name}.mjs`);
      const options = ["--format=esm", "--target=esnext", `--outfile=${stripped}`, "--log-level=error"];
      const raw = JSON.stringify({ compilerOptions: { experimentalDecorators: true, useDefineForClassFields: true } });
      execFileSync("npx", ["-y", "esbuild@0.25", program, `--tsconfig-raw=${raw}`, ...options]);
      program = stripped;
    }
    try {
      const env = { ...process.env, TZ: "UTC" };
      const out = execFileSync(process.execPath, [fileURLToPath(import.meta.url), server, program], { env, stdio: "pipe" });
      writeFileSync(path.join(here, `${name}.out`), out);
      console.log(name);
    } catch (error) {
      console.log(`${name} FAILED: ${error.stderr}`);
      process.exitCode = 1;
    }
  }
  rmSync(folder, { recursive: true });
}

async function run(server, program) {
  const child = spawn(server, [], { stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  let last = 0;
  createInterface({ input: child.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
  });
  const request = (method, params) =>
    new Promise((resolve) => {
      const id = ++last;
      waiting.set(id, resolve);
      child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    });
  await request("initialize", {
    protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "reference", version: "1" },
  });
  child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');

  globalThis.ToolError = class ToolError extends Error {};
  Object.defineProperty(ToolError.prototype, "name", { value: "ToolError", configurable: true, writable: true });
  const parsed = (text) => {
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  };
  const value = (name, { error, result }) => {
    const text = result?.content?.map((block) => block.text).join("\n");
    if (error || result.isError) throw new ToolError(`'${name}' failed: ${error?.message ?? text}`);
    const structured = result.structuredContent;
    if (structured === undefined) return result.content.length === 0 ? null : parsed(text);
    const keys = Object.keys(structured);
    return keys.length === 1 && keys[0] === "result" ? parsed(text) : structured;
  };
  const { result } = await request("tools/list", {});
  globalThis.tools = {};
  for (const tool of result.tools) {
    const parameters = Object.keys(tool.inputSchema.properties ?? {});
    const name = `mcp__fixture__${tool.name.replace(/[^A-Za-z0-9_]/g, "_")}`;
    globalThis[name] = async (...args) => {
      const [first] = args;
      const isNamed = args.length === 1 && typeof first === "object" && first !== null && !Array.isArray(first);
      const named = isNamed ? first : Object.fromEntries(args.map((it, i) => [parameters[i], it]));
      return value(name, await request("tools/call", { name: tool.name, arguments: named }));
    };
    tools[tool.name] = globalThis[name];
  }
  await import(pathToFileURL(path.resolve(program)));
  process.on("beforeExit", () => child.kill());
  child.stdin.end();
}
