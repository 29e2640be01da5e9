// The official TypeScript SDK, 2.x.

import { packaged } from "../clients/packages.mjs";
import { main } from "./scenario.mjs";

const { Client, StreamableHTTPClientTransport } = packaged("@modelcontextprotocol/client");

await main((url, authProvider) => {
  const transport = new StreamableHTTPClientTransport(url, { authProvider });
  const client = new Client(
    { name: "sdk-2", version: "1.0.0" },
    { versionNegotiation: { mode: "auto" } },
  );
  return { client, transport, finish: (fields) => transport.finishAuth(fields) };
});
