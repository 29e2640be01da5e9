"""A server like most of those that people have: a tool on the official Python SDK."""

try:
    from mcp.server.fastmcp import FastMCP
except ModuleNotFoundError:  # its name since version 2
    from mcp.server.mcpserver import MCPServer as FastMCP

server = FastMCP("tools", log_level="ERROR")


@server.tool()
async def add(a: int, b: int) -> int:
    return a + b


server.run()
