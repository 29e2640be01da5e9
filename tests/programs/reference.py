"""Runs a program under CPython as execute_program would, to get its expected output.

    python3 reference.py FIXTURE_SERVER PROGRAM.py     run one program
    python3 reference.py --write FIXTURE_SERVER        write the .out file of every program here

The tools of the fixture server are functions `mcp__fixture__<tool>` that follow the
contracts "Values" and "Errors" of the design. Standard library only.
"""

import ast
import asyncio
import builtins
import inspect
import json
import linecache
import os
import pathlib
import re
import subprocess
import sys
import threading
import types


class ToolError(Exception):
    """A tool call that failed."""


ToolError.__module__ = "builtins"


class Server:
    """The fixture server: calls from any event loop, answers matched by id on a thread."""

    def __init__(self, executable):
        self.process = subprocess.Popen([executable], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.waiting = {}
        self.last_id = 0
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            loop, future = self.waiting.pop(message["id"])
            try:
                loop.call_soon_threadsafe(lambda f=future, m=message: f.done() or f.set_result(m))
            except RuntimeError:
                pass  # The program has ended without waiting for this answer.

    async def request(self, method, params):
        loop = asyncio.get_running_loop()
        self.last_id += 1
        future = loop.create_future()
        self.waiting[self.last_id] = (loop, future)
        self._send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return await future

    def _send(self, message):
        self.process.stdin.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        self.process.stdin.flush()

    async def start(self):
        """Does the handshake and returns the tool definitions."""
        client = {"name": "reference", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        await self.request("initialize", params)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return (await self.request("tools/list", {}))["result"]["tools"]

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


def parsed(text):
    """JSON if it parses, else the text itself."""

    def refuse(constant):
        raise ValueError(constant)

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return text


def value_of(result):
    """The plain value of a tool's answer."""
    content = result.get("content", [])
    texts = [block["text"] for block in content if block["type"] == "text"]
    text = "\n".join(texts)
    if "structuredContent" in result:
        structured = result["structuredContent"]
        if set(structured) == {"result"}:
            inner = structured["result"]
            if text == inner or parsed(text) == inner:
                return parsed(text)
        return structured
    others = [block for block in content if block["type"] != "text"]
    if others:
        values = ([parsed(text)] if texts else []) + others
        return values[0] if len(values) == 1 else values
    return parsed(text) if texts else None


def tool_function(server, tool):
    callable_name = "mcp__fixture__" + re.sub(r"[^A-Za-z0-9_]", "_", tool["name"])
    parameters = list(tool["inputSchema"].get("properties", {}))

    async def call(*args, **kwargs):
        if len(args) == 1 and not kwargs and isinstance(args[0], dict):
            arguments = args[0]
        else:
            if len(args) > len(parameters):
                raise TypeError(f"{callable_name}() takes at most {len(parameters)} arguments")
            arguments = {**dict(zip(parameters, args)), **kwargs}
        params = {"name": tool["name"], "arguments": arguments}
        answer = await server.request("tools/call", params)
        if "error" in answer:
            raise ToolError(f"'{callable_name}' failed: {answer['error']['message']}")
        result = answer["result"]
        if result.get("isError"):
            text = "\n".join(block["text"] for block in result["content"] if "text" in block)
            raise ToolError(f"'{callable_name}' failed: {text}")
        return value_of(result)

    call.__name__ = call.__qualname__ = callable_name
    return call


def run(executable, path):
    server = Server(executable)
    tools = asyncio.run(server.start())
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    module.__dict__.update({f.__name__: f for f in (tool_function(server, t) for t in tools)})
    module.__builtins__ = builtins
    module.ToolError = ToolError
    source = pathlib.Path(path).read_text(encoding="utf-8")
    linecache.cache["<program>"] = (len(source), None, source.splitlines(True), "<program>")
    code = compile(source, "<program>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    function = types.FunctionType(code, module.__dict__)
    # A program without a top-level await runs outside any event loop, so that it
    # can call asyncio.run() itself.
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(function())
    else:
        function()
    server.stop()


def output_of(executable, path, hash_seed):
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-W", "default", __file__, executable, path]
    done = subprocess.run(command, env=environment, capture_output=True)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{path.name} failed:\n{done.stderr.decode()}")
    return done.stdout


def write(executable):
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if path.name == "reference.py":
            continue
        output = output_of(executable, path, "1")
        if output != output_of(executable, path, "2"):
            sys.exit(f"{path.name} depends on the order of a set or on chance")
        path.with_suffix(".out").write_bytes(output)
        print(f"{path.with_suffix('.out').name}: {len(output.splitlines())} lines")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--write":
        write(sys.argv[2])
    else:
        run(sys.argv[1], sys.argv[2])
