"""The client of FastMCP."""

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport

from scenario import main, play, stopped


class Client:
    def __init__(self, client: FastClient):
        self.client = client

    async def tools(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, name, arguments, progress=None):
        async def told(number, total, message):
            progress(number, message)

        result = await self.client.call_tool(
            name, arguments, progress_handler=told if progress else None, raise_on_error=False
        )
        return "\n".join(block.text for block in result.content), result.is_error

    async def refusal(self, name):
        try:
            return f"answered: {await self.call(name, {})}"
        except Exception as error:
            return str(error)

    async def cancel(self, task):
        return await stopped(task)


async def connect(command, arguments):
    async with FastClient(StdioTransport(command=command, args=arguments)) as client:
        return {
            "protocol": client.protocol_version,
            "server": client.server_info.name,
            **await play(Client(client)),
        }


main(connect)
