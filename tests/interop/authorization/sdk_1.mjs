// The official TypeScript SDK, 1.x.

import { packaged } from "../clients/packages.mjs";
import { main } from "./scenario.mjs";

const { Client } = packaged("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = packaged(
  "@modelcontextprotocol/sdk/client/streamableHttp.js",
);

await main((url, authProvider) => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider });
  const client = new Client({ name: "sdk-1", version: "1.0.0" });
  return { client, transport, finish: (fields) => transport.finishAuth(fields.get("code")) };
});
