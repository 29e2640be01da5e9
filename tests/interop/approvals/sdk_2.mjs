// The official TypeScript SDK, 2.x, which passes forms of requests and of results to one handler.

import { packaged } from "../clients/packages.mjs";
import { main } from "./scenario.mjs";

const { Client, StreamableHTTPClientTransport } = packaged("@modelcontextprotocol/client");
const { StdioClientTransport } = packaged("@modelcontextprotocol/client/stdio");

await main(async (user, mode, server) => {
  const client = new Client(
    { name: "sdk-2", version: "1.0.0" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  client.setRequestHandler("elicitation/create", async ({ params }) => user.answer(params));
  await client.connect(transportTo(server));
  return {
    protocol: client.getNegotiatedProtocolVersion(),
    call: (params, options) => client.callTool(params, options),
    close: () => client.close(),
  };
});

function transportTo(server) {
  if (typeof server === "string") return new StreamableHTTPClientTransport(new URL(server));
  const [command, ...args] = server;
  return new StdioClientTransport({ command, args });
}
