"""What every Python client does with a onecall that requires a login.

A driver is started with the address of onecall and knows nothing else. The test is the browser: the
driver prints the address to open as a line of JSON, and reads the address that the browser was sent
back to. What the client saw goes to stdout as the last line.
"""

import asyncio
import json
import sys
import urllib.parse

REDIRECT = "http://127.0.0.1:8719/callback"

METADATA = {
    "client_name": "interop",
    "redirect_uris": [REDIRECT],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}


class Storage:
    """Keeps what the client knows for as long as the process runs."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def say(message: dict) -> None:
    print(json.dumps(message), flush=True)


async def open_browser(url: str) -> None:
    say({"open": url})


async def returned() -> dict:
    """The fields of the address that the browser was sent back to."""
    address = await asyncio.to_thread(sys.stdin.readline)
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address.strip()).query))


async def play(call) -> dict:
    """Asks for the tools of this user and calls two; `call(name, arguments)` answers with
    (text, is_error)."""
    return {
        "callable": (await call("list_callable_tools", {}))[0],
        "add": await call("execute_program", {"code": "print(await mcp__fixture__add(20, 22))"}),
        "echo": await call("execute_program", {"code": "print(await mcp__fixture__echo('hi'))"}),
    }


def main(connect) -> None:
    say({"seen": asyncio.run(asyncio.wait_for(connect(sys.argv[1]), 100))})
