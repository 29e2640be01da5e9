// The official TypeScript SDK, 1.x. It knows no revision in which a result can ask for input.

import { packaged } from "../clients/packages.mjs";
import { main } from "./scenario.mjs";

const { Client } = packaged("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = packaged("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = packaged(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);
const { ElicitRequestSchema } = packaged("@modelcontextprotocol/sdk/types.js");

await main(async (user, mode, server) => {
  const capabilities = { elicitation: { form: {} } };
  const client = new Client({ name: "sdk-1", version: "1.0.0" }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, async ({ params }) => user.answer(params));
  const transport = transportTo(server);
  let protocol;
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    protocol = version;
    told?.(version);
  };
  await client.connect(transport);
  return { protocol, call: (params) => client.callTool(params), close: () => client.close() };
});

function transportTo(server) {
  if (typeof server === "string") return new StreamableHTTPClientTransport(new URL(server));
  const [command, ...args] = server;
  return new StdioClientTransport({ command, args });
}
