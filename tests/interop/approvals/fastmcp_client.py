"""The client of FastMCP, whose users fill in an object of a class that it makes of the form. It
answers results that ask for input by itself, and has no way of its own to do that by hand."""

import contextlib

from fastmcp import Client as FastClient
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport

from scenario import main, text_of


class Client:
    def __init__(self, client: FastClient):
        self.client = client
        self.protocol = client.protocol_version

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments, raise_on_error=False)
        return text_of(result), result.is_error


@contextlib.asynccontextmanager
async def connect(user, mode, server):
    async def elicit(message, response_type, params, context):
        action, content = await user.answer(message, params.requested_schema)
        return response_type(**content) if action == "accept" else ElicitResult(action=action)

    if isinstance(server, list):
        server = StdioTransport(command=server[0], args=server[1:])
    async with FastClient(server, mode=mode, elicitation_handler=elicit) as client:
        yield Client(client)


main(connect)
