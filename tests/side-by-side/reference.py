"""A plain in-process server for programs over MCP tools, as people run them: without a sandbox.

It wraps the program in a coroutine function, gives it every tool as an async function that takes
keyword arguments, and answers what was printed. `record.py` asks it for the answers to compare with.

    python reference.py SERVER.py    reads programs as lines of JSON, answers each with a line

Each line is {"code": …, "timeout_seconds": …, "max_output_bytes": …}; each answer is a JSON string.
"""

import asyncio
import contextlib
import io
import json
import os
import sys
import textwrap
import traceback

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SUCCESS = "[Script executed successfully]\n"
FAILURE = "[Script execution failed]\n"


class ToolError(Exception):
    """A tool call that failed."""


ToolError.__module__ = "builtins"


def value_of(result):
    """Text is JSON if it parses; anything but text is left out."""
    texts = [block.text for block in result.content if block.type == "text"]
    if not texts:
        return None
    text = "\n".join(texts)
    try:
        return json.loads(text)
    except ValueError:
        return text


def function(session, name, tool):
    async def call(**arguments):
        try:
            result = await session.call_tool(tool, arguments)
        except Exception as error:
            raise ToolError(f"'{name}' failed: {error}") from error
        if result.isError:
            text = "\n".join(block.text for block in result.content if block.type == "text")
            raise ToolError(f"'{name}' failed: {text}")
        return value_of(result)

    call.__name__ = call.__qualname__ = name
    return call


def blocked(name):
    async def call(**arguments):
        raise ToolError(f"'{name}' is not available in execute_program")

    return call


async def execute(code, tools, timeout, max_output):
    """Runs one program and puts what came of it into words."""
    scope = dict(tools)
    printed = io.StringIO()
    try:
        source = "async def __main__():\n" + textwrap.indent(code, "    ")
        exec(compile(source, "<program>", "exec"), scope)
        with contextlib.redirect_stdout(printed):
            await asyncio.wait_for(scope["__main__"](), timeout)
    except asyncio.TimeoutError:
        return f"{FAILURE}TimeoutError: Execution exceeded {timeout}s limit"
    except Exception:
        return FAILURE + traceback.format_exc()
    output = printed.getvalue()
    if len(output.encode("utf-8", "replace")) > max_output:
        output = output[:max_output] + "\n... (truncated)"
    return SUCCESS + (output if output.strip() else "(no output)")


async def main(server, requests, answers):
    parameters = StdioServerParameters(command=sys.executable, args=[server])
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = {}
        for tool in (await session.list_tools()).tools:
            name = "mcp__kit__" + tool.name.replace("-", "_")
            refused = tool.name == "delete_everything"
            tools[name] = blocked(name) if refused else function(session, name, tool.name)
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, requests.readline):
            request = json.loads(line)
            limits = request["timeout_seconds"], request["max_output_bytes"]
            text = await execute(request["code"], tools, *limits)
            answers.write(json.dumps(text) + "\n")
            answers.flush()


if __name__ == "__main__":
    # Programs must not read the requests, nor write among the answers.
    own_input, own_output = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    asyncio.run(main(sys.argv[1], own_input, own_output))
