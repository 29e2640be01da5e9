"""The official Python SDK, 2.x."""

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

from scenario import METADATA, Storage, main, open_browser, play, returned


async def callback():
    fields = await returned()
    return AuthorizationCodeResult(
        code=fields["code"], state=fields["state"], iss=fields.get("iss")
    )


async def connect(url):
    metadata = OAuthClientMetadata.model_validate(METADATA)
    login = OAuthClientProvider(url, metadata, Storage(), open_browser, callback)
    async with (
        httpx2.AsyncClient(auth=login, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):

        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content), result.is_error

        return await play(call)


main(connect)
