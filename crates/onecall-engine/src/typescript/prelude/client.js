// What a program imports from `./mcp-apis/client`: calls of tools by name, as the client of
// generated files has them.
(hooks) => {
  "use strict";
  const { originals: o, ToolError } = hooks;

  const call = async (toolName, args = {}) => {
    const name = o.String(toolName);
    let tool;
    try {
      tool = hooks.find(name);
    } catch (error) {
      throw new ToolError(error.message);
    }
    return await tool(args);
  };
  // What is printed of these is their name.
  const callMCPTool = async (toolName, args) => call(toolName, args);
  const clearCache = async (pattern = "") =>
    hooks.ask("cache_forget", { text: hooks.text(pattern) });
  // Nothing was opened, and calls work afterwards as they do with the generated client.
  const close = async () => undefined;
  const disconnectMCP = async () => undefined;

  hooks.client = { __proto__: null, call, callMCPTool, clearCache, close, disconnectMCP, ToolError };
}
