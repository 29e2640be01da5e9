"""The official Python SDK, 2.x, which passes forms of requests and of results to one callback."""

import contextlib

from mcp import Client as SdkClient
from mcp import StdioServerParameters, types

from scenario import main, text_of


class Client:
    def __init__(self, client: SdkClient):
        self.client = client
        self.protocol = client.protocol_version

    async def call(self, name, arguments):
        result = await self.client.call_tool(name, arguments)
        return text_of(result), result.is_error

    async def ask(self, name, arguments):
        asked = await self.client.session.call_tool(name, arguments, allow_input_required=True)
        [(key, request)] = asked.input_requests.items()
        return key, request.params.message, request.params.requested_schema, asked.request_state

    async def reply(self, name, arguments, key, answer, state):
        action, content = answer
        responses = {key: types.ElicitResult(action=action, content=content)}
        result = await self.client.call_tool(
            name, arguments, input_responses=responses, request_state=state
        )
        return text_of(result), result.is_error


@contextlib.asynccontextmanager
async def connect(user, mode, server):
    async def elicit(context, params: types.ElicitRequestParams):
        action, content = await user.answer(params.message, params.requested_schema)
        return types.ElicitResult(action=action, content=content)

    if isinstance(server, list):
        server = StdioServerParameters(command=server[0], args=server[1:])
    async with SdkClient(server, mode=mode, elicitation_callback=elicit) as client:
        yield Client(client)


main(connect)
