"""The official Python SDK, 2.x; with `--mode MODE` first, in that mode of connecting."""

import functools
import sys

from mcp import Client as SdkClient
from mcp import MCPError, StdioServerParameters

from scenario import main, play, stopped


class Client:
    def __init__(self, client: SdkClient):
        self.client = client

    async def tools(self):
        return [tool.name for tool in (await self.client.list_tools()).tools]

    async def call(self, name, arguments, progress=None):
        async def told(number, total, message):
            progress(number, message)

        result = await self.client.call_tool(
            name, arguments, progress_callback=told if progress else None
        )
        return "\n".join(block.text for block in result.content), result.is_error

    async def refusal(self, name):
        try:
            return f"answered: {await self.call(name, {})}"
        except MCPError as error:
            return error.error.message

    async def cancel(self, task):
        return await stopped(task)


async def connect(mode, command, arguments):
    server = StdioServerParameters(command=command, args=arguments)
    async with SdkClient(server, mode=mode) as client:
        return {
            "protocol": client.protocol_version,
            "server": client.server_info.name,
            **await play(Client(client)),
        }


mode = sys.argv.pop(1)
main(functools.partial(connect, mode))
