"""The official Python SDK, 1.x. It knows no revision in which a result can ask for input, and reads
nothing while its user looks at a form: an answer of the server has to wait for the user's."""

import contextlib

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from scenario import main, text_of


class Client:
    def __init__(self, session: ClientSession, protocol: str):
        self.session = session
        self.protocol = protocol

    async def call(self, name, arguments):
        result = await self.session.call_tool(name, arguments)
        return text_of(result), result.isError


@contextlib.asynccontextmanager
async def connect(user, mode, server):
    async def elicit(context, params: types.ElicitRequestParams):
        action, content = await user.answer(params.message, params.requestedSchema)
        return types.ElicitResult(action=action, content=content)

    async with (
        transport(server) as (read, write, *_),
        ClientSession(read, write, elicitation_callback=elicit) as session,
    ):
        yield Client(session, (await session.initialize()).protocolVersion)


def transport(server):
    if isinstance(server, str):
        return streamable_http_client(server)
    return stdio_client(StdioServerParameters(command=server[0], args=server[1:]))


main(connect)
