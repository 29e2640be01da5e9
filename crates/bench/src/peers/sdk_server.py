"""What most people would write: a server on the official Python SDK with one tool
that runs a program in its own process, and the tools of another server as functions.

Arguments: the command of that other server.
"""

import ast
import contextlib
import inspect
import io
import json
import sys

from mcp import ClientSession, StdioServerParameters, stdio_client

try:
    from mcp.server.fastmcp import FastMCP
except ModuleNotFoundError:  # its name since version 2
    from mcp.server.mcpserver import MCPServer as FastMCP

functions = {}


def bridged(session, name):
    async def call(**arguments):
        result = await session.call_tool(name, arguments)
        text = "\n".join(block.text for block in result.content if block.type == "text")
        try:
            return json.loads(text)
        except ValueError:
            return text

    return call


@contextlib.asynccontextmanager
async def downstream(_server):
    command = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(command) as streams, ClientSession(*streams) as session:
        await session.initialize()
        for tool in (await session.list_tools()).tools:
            functions[f"mcp__fixture__{tool.name}"] = bridged(session, tool.name)
        yield


server = FastMCP("seed", lifespan=downstream, log_level="ERROR")


@server.tool()
async def execute_program(code: str) -> str:
    output = io.StringIO()
    scope = {"__name__": "__main__", **functions}
    with contextlib.redirect_stdout(output):
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        running = eval(compile(code, "<program>", "exec", flags=flags), scope)
        if inspect.isawaitable(running):
            await running
    return "[Script executed successfully]\n" + (output.getvalue() or "(no output)")


server.run()
