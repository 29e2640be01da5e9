// Calls of tools by name, and answers that are kept and forgotten.

import { callMCPTool, clearCache, disconnectMCP, ToolError } from "./tools/client.js";

interface Sum {
  a: number;
  b: number;
}

async function add(sum: Sum): Promise<number> {
  return callMCPTool("mcp_fixture_add", sum);
}

async function main(): Promise<void> {
  const sum: Sum = { a: 1, b: 2 };
  // The server is asked once, whatever the tool is called.
  const [first, second] = [await add(sum), await callMCPTool<number>("add", sum)];
  console.log(first, second, await callMCPTool<number>("mcp__fixture__add", { b: 2, a: 1 }));
  // Forgotten, although nobody waits for it.
  void clearCache("mcp_fixture_add");
  console.log(await add(sum), await add(sum));
  console.log(await clearCache("add"));
  console.log(await clearCache("subtract"));
  await add(sum);
  try {
    await callMCPTool("mcp_fixture_ad");
  } catch (error) {
    console.log(error instanceof ToolError ? error.message : error);
  }
  await disconnectMCP();
  console.log(await add(sum));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
