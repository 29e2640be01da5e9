"""The official Python SDK, 1.x."""

from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from scenario import main, play


class Client:
    def __init__(self, session: ClientSession):
        self.session = session

    async def tools(self):
        return [tool.name for tool in (await self.session.list_tools()).tools]

    async def call(self, name, arguments, progress=None):
        async def told(number, total, message):
            progress(number, message)

        result = await self.session.call_tool(
            name, arguments, progress_callback=told if progress else None
        )
        return "\n".join(block.text for block in result.content), result.isError

    async def refusal(self, name):
        try:
            return f"answered: {await self.call(name, {})}"
        except McpError as error:
            return error.error.message

    async def cancel(self, task):
        # This SDK leaves it to its user to tell the server; ids count up from 0.
        request = self.session._request_id - 1
        params = types.CancelledNotificationParams(requestId=request, reason="enough")
        notification = types.CancelledNotification(params=params)
        await self.session.send_notification(types.ClientNotification(notification))
        # No answer comes to a request that was cancelled.
        task.cancel()
        return "cancelled"


async def connect(command, arguments):
    server = StdioServerParameters(command=command, args=arguments)
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        initialized = await session.initialize()
        return {
            "protocol": initialized.protocolVersion,
            "server": initialized.serverInfo.name,
            **await play(Client(session)),
        }


main(connect)
