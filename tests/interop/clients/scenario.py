"""What every Python client does with onecall; the driver of each one says how it does it.

A driver is started with the command of a server. What the client made of the server goes
to stdout as one JSON document, which the test compares with what it must be.
"""

import asyncio
import json
import os
import pathlib
import sys

SUCCESS = "print(await mcp__fixture__add(20, 22), 'grüße 🦀')"
FAILURE = "print('before')\nawait mcp__fixture__fail(message='out of paper')"
STEPS = "for n in range(2):\n    await mcp__fixture__sleep(ms=150)\nprint('done')"
HANGING = "await mcp__fixture__hang()"


async def play(client) -> dict:
    """Asks for everything once. `client` has these methods:

    tools() -> names
    call(name, arguments, progress=None) -> (text, is_error), progress(number, message)
    refusal(name) -> the message of the error that a call of an unknown tool raises
    cancel(task) -> ends a call that is under way, and says how it ended
    """
    told = []
    tools = await client.tools()
    search = {"query": "add two numbers"}
    return {
        "tools": tools,
        "callable": (await client.call("list_callable_tools", {}))[0],
        "inspected": await client.call("inspect_tool", {"tool_name": "mcp__fixture__add"}),
        "missing": await client.call("inspect_tool", {"tool_name": "mcp__fixture__ad"}),
        "found": await client.call("search_tools", search) if "search_tools" in tools else None,
        "success": await client.call("execute_program", {"code": SUCCESS}),
        "failure": await client.call("execute_program", {"code": FAILURE}),
        "refusal": await client.refusal("no_such_tool"),
        "steps": await client.call(
            "execute_program", {"code": STEPS}, lambda n, text: told.append((round(n), text))
        ),
        # How many follow depends on how busy the machine is.
        "progress": told[0],
        "cancelled": await cancelled(client),
        "afterwards": await client.call("execute_program", {"code": "print('alive')"}),
    }


async def cancelled(client) -> str:
    """Cancels a program as soon as it has called the tool that never answers."""
    under_way = asyncio.Event()
    task = asyncio.create_task(
        client.call("execute_program", {"code": HANGING}, lambda *_: under_way.set())
    )
    await asyncio.wait_for(under_way.wait(), 30)
    ended = await asyncio.wait_for(client.cancel(task), 30)
    await asyncio.wait_for(told_to_the_tool(), 30)
    return ended


async def told_to_the_tool() -> None:
    """Returns when the server that has the tool knows, while this client is still connected."""
    received = pathlib.Path(os.environ["ONECALL_INTEROP_RECEIVED"])
    while "notifications/cancelled" not in received.read_text():
        await asyncio.sleep(0.05)


async def stopped(task: asyncio.Task) -> str:
    """Cancels a task; its client tells the server by itself."""
    task.cancel()
    try:
        return f"answered: {await task}"
    except asyncio.CancelledError:
        return "cancelled"


def main(connect) -> None:
    """Runs `connect(command, arguments)`, which plays the scenario, and prints what it saw."""
    command, *arguments = sys.argv[1:]
    seen = asyncio.run(asyncio.wait_for(connect(command, arguments), 100))
    json.dump(seen, sys.stdout)
