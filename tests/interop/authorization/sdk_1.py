"""The official Python SDK, 1.x."""

import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from scenario import METADATA, Storage, main, open_browser, play, returned


async def callback():
    fields = await returned()
    return fields["code"], fields["state"]


async def connect(url):
    metadata = OAuthClientMetadata.model_validate(METADATA)
    login = OAuthClientProvider(url, metadata, Storage(), open_browser, callback)
    async with (
        httpx.AsyncClient(auth=login, timeout=60) as http,
        streamable_http_client(url, http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()

        async def call(name, arguments):
            result = await session.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content), result.isError

        return await play(call)


main(connect)
