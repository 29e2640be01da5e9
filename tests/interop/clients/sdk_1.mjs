// The official TypeScript SDK, 1.x.

import { packaged } from "./packages.mjs";
import { main, play } from "./scenario.mjs";

const { Client } = packaged("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = packaged("@modelcontextprotocol/sdk/client/stdio.js");

await main(async (command, args) => {
  const transport = new StdioClientTransport({ command, args });
  let protocol;
  transport.setProtocolVersion = (version) => (protocol = version);
  const client = new Client({ name: "sdk-1", version: "1.0.0" });
  await client.connect(transport);
  const call = (name, given, options) =>
    client.callTool({ name, arguments: given }, undefined, options);
  const seen = await play(client, call);
  await client.close();
  return { protocol, ...seen };
});
