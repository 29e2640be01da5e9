// The code mode of UTCP, which is a library, behind one tool of a server on the official
// TypeScript SDK.
//
// Arguments: the folder that has its packages, then the command of the server to call.

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, command, ...args] = process.argv.slice(2);
const packages = createRequire(pathToFileURL(`${folder}/package.json`));
const load = (name) => import(pathToFileURL(packages.resolve(name)));

// It logs every call; stdout is the protocol, and the time of a log is not its own.
console.log = console.info = console.warn = console.error = () => {};

const { McpServer } = await load("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = await load("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = await load("zod");
const { CodeModeUtcpClient } = await load("@utcp/code-mode");
await load("@utcp/mcp");

const fixture = { transport: "stdio", command, args };
const client = await CodeModeUtcpClient.create(process.cwd(), {
  manual_call_templates: [
    { name: "peer", call_template_type: "mcp", config: { mcpServers: { fixture } } },
  ],
});

const TIME = 600_000;
const MEGABYTES = 1024;

const server = new McpServer({ name: "utcp", version: "1.0.0" });
server.registerTool("execute", { inputSchema: { code: z.string() } }, async ({ code }) => {
  const { result, logs } = await client.callToolChain(code, TIME, MEGABYTES);
  const failed = logs.some((line) => line.startsWith("[ERROR]"));
  const text = failed ? logs.join("\n") : String(result);
  return { content: [{ type: "text", text }], isError: failed };
});
await server.connect(new StdioServerTransport());
process.stdin.on("end", () => process.exit(0));
