// The official TypeScript SDK, 2.x: the package that has the client alone. The first
// argument is its way of agreeing on a revision.

import { packaged } from "./packages.mjs";
import { main, play } from "./scenario.mjs";

const { Client } = packaged("@modelcontextprotocol/client");
const { StdioClientTransport } = packaged("@modelcontextprotocol/client/stdio");

const [mode] = process.argv.splice(2, 1);

await main(async (command, args) => {
  const client = new Client(
    { name: "sdk-2", version: "1.0.0" },
    { versionNegotiation: { mode } },
  );
  await client.connect(new StdioClientTransport({ command, args }));
  const call = (name, given, options) => client.callTool({ name, arguments: given }, options);
  const seen = await play(client, call);
  const protocol = client.getNegotiatedProtocolVersion();
  await client.close();
  return { protocol, ...seen };
});
