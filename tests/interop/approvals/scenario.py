"""What every Python client does with a program that needs approvals; the driver of each one says
how it does it.

A driver is started with a part of the scenario, a mode of connecting, and the address of a server
or its command. What the client saw goes to stdout as one JSON document.
"""

import asyncio
import json
import sys

TOGETHER = """\
import asyncio
async def delete(path):
    try:
        return await mcp__files__delete(path=path)
    except ToolError as error:
        return error
for outcome in await asyncio.gather(delete("/PART/yes"), delete("/PART/no")):
    print(outcome)
"""

IN_TURN = """\
for path in ["/PART/yes", "/PART/no"]:
    try:
        print(await mcp__files__delete(path=path))
    except ToolError as error:
        print(error)
"""

WAITING = "[Script waiting for approval]\nrun: "

# Twice as long as a request waits in the parts in which that matters.
HESITATION_SECONDS = 6


class User:
    """Sees forms, and does with each what `action` says: `accept` approves of every path that says
    yes, `hesitate` approves of everything, but late, and the others are those of the protocol."""

    def __init__(self):
        self.action = "accept"
        self.forms = []

    async def answer(self, message: str, schema: dict) -> tuple[str, dict | None]:
        """The action and the content of the answer to a form."""
        self.forms.append({"message": message, "schema": schema})
        if self.action in ("decline", "cancel"):
            return self.action, None
        is_late = self.action == "hesitate"
        if is_late:
            await asyncio.sleep(HESITATION_SECONDS)
        content = {}
        for name, field in schema["properties"].items():
            if name != "reason":
                call = message if field["title"] == "Decision" else field["title"]
                content[name] = "approve" if is_late or "/yes" in call else "deny"
        if "reason" in schema["properties"] and "deny" in content.values():
            content["reason"] = "not today"
        return "accept", content

    def seen(self) -> list[dict]:
        """The forms since the last time."""
        seen, self.forms = self.forms, []
        return seen


async def play(part: str, connect) -> dict:
    """Plays a part. `connect(user)` is a context with a client that has these:

    protocol: the revision that it has agreed on
    call(name, arguments) -> (text, is_error)
    ask(name, arguments) -> (the key of the form, message, schema, request state)
    reply(name, arguments, key, answer, state) -> (text, is_error)

    The last two are needed by the part `by_hand` alone.
    """
    parts = {
        "decisions": decisions,
        "closed": lambda connect: later(connect, "cancel", part),
        "hesitating": lambda connect: later(connect, "hesitate", part),
        "exposed": exposed,
        "by_hand": by_hand,
    }
    return await parts[part](connect)


def program(code: str, part: str) -> dict:
    return {"code": code.replace("PART", part)}


async def decisions(connect) -> dict:
    """The user decides about two calls at once, about one after the other, and declines a form."""
    user = User()
    seen = {}
    async with connect(user) as client:
        for part, code, action in [
            ("together", TOGETHER, "accept"),
            ("in_turn", IN_TURN, "accept"),
            ("declined", TOGETHER, "decline"),
        ]:
            user.action = action
            answer = await client.call("execute_program", program(code, part))
            seen[part] = {"forms": user.seen(), "answer": answer}
        return {"protocol": client.protocol, **seen}


async def later(connect, action: str, part: str) -> dict:
    """The user does not answer the form in time, and decides when the agent asks for the result."""
    user = User()
    user.action = action
    async with connect(user) as client:
        answer = first = await client.call("execute_program", program(TOGETHER, part))
        forms = user.seen()
        user.action = "accept"
        # On a busy machine, a form may be withdrawn before it is answered.
        while run := waiting_run(answer):
            answer = await client.call("continue_program", {"run": run})
        if run := waiting_run(first):
            first = [first[0].replace(run, "RUN"), first[1]]
        return {"protocol": client.protocol, "forms": forms, "first": first, "answer": answer}


async def exposed(connect) -> dict:
    """The client calls a tool directly whose server declares what it returns. The answer says that the
    call waits, and a client that checks answers must let it through."""
    user = User()
    user.action = "cancel"
    async with connect(user) as client:
        first = await client.call("mcp__files__delete", {"path": "/exposed/yes"})
        user.action = "accept"
        answer, run = first, waiting_run(first)
        while waiting_run(answer):
            answer = await client.call("continue_program", {"run": run})
        return {"protocol": client.protocol, "waits": run is not None, "answer": answer}


def waiting_run(answer) -> str | None:
    """The run that waits, if the answer says so."""
    text = answer[0]
    return text.removeprefix(WAITING).split("\n")[0] if text.startswith(WAITING) else None


async def by_hand(connect) -> dict:
    """The client keeps the request state, and answers on another connection, more than once."""
    user = User()
    arguments = program(TOGETHER, "by_hand")
    async with connect(user) as client:
        key, message, schema, state = await client.ask("execute_program", arguments)
    answer = await user.answer(message, schema)
    async with connect(user) as client:
        answered = await client.reply("execute_program", arguments, key, answer, state)
        # As if the response had been lost, and the user had changed their mind.
        decline = ("decline", None)
        repeated = await client.reply("execute_program", arguments, key, decline, state)
        return {
            "protocol": client.protocol,
            "forms": user.seen(),
            "answer": answered,
            "repeated": repeated,
        }


def text_of(result) -> str:
    return "\n".join(block.text for block in result.content)


def main(connect) -> None:
    """Plays the part that the arguments name; `connect(user, mode, server)` as for `play`, where
    the server is an address or a list with a command."""
    part, mode, *server = sys.argv[1:]
    server = server[0] if server[0].startswith("http:") else server
    seen = play(part, lambda user: connect(user, mode, server))
    json.dump(asyncio.run(asyncio.wait_for(seen, 100)), sys.stdout)
