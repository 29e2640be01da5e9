"""An MCP server with a tool for everything in `table.py`, on the framework that is installed:
FastMCP, the official SDK 2 or the official SDK 1."""

import base64
import functools
import importlib.metadata
import inspect

from table import TABLE

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg"
    "gg=="
)



def framework():
    """The server, the class of images, and a function that makes whole results."""
    try:
        import fastmcp
        from fastmcp.tools.base import ToolResult
        from fastmcp.utilities.types import Image

        def result(text, structured=None):
            return ToolResult(content=text, structured_content=structured)

        return fastmcp.FastMCP("values"), Image, ToolResult, result
    except ModuleNotFoundError:
        pass
    from mcp.types import CallToolResult

    def result(text, structured=None):
        content = [{"type": "text", "text": text}]
        answer = {"content": content, "structuredContent": structured}
        return CallToolResult.model_validate(answer)

    if importlib.metadata.version("mcp").startswith("1."):
        from mcp.server.fastmcp import FastMCP, Image

        return FastMCP("values", log_level="ERROR"), Image, CallToolResult, result
    from mcp.server.mcpserver import Image, MCPServer

    return MCPServer("values", log_level="ERROR"), Image, CallToolResult, result


server, Image, Result, result = framework()
NOT_ANNOTATED = inspect.Signature.empty


def add(name, annotation, value):
    def tool():
        return value

    tool.__name__ = tool.__qualname__ = name
    if annotation is not NOT_ANNOTATED:
        tool.__annotations__ = {"return": annotation}
    server.tool()(tool)


def image():
    return Image(data=PNG, format="png")


# What has no output schema: only the content says what it is.
UNDECLARED = [
    ("unannotated", NOT_ANNOTATED, [5, "text", "[1]", [], [1, 2], {}, {"result": 1}, None]),
    ("image", Image, [image()]),
    ("images", NOT_ANNOTATED, [[image(), image()]]),
    ("text_and_image", NOT_ANNOTATED, [["a red pixel", image()]]),
    ("json_and_image", NOT_ANNOTATED, [['{"pixels": 1}', image()]]),
    ("whole_result", Result, [result("text"), result("[1]"), result("5", {"result": 5, "a": 1})]),
]

for name, annotation, values in TABLE + UNDECLARED:
    for number, value in enumerate(values):
        add(f"{name}_{number}", annotation, value)

if __name__ == "__main__":
    run = functools.partial(server.run, transport="stdio")
    if "show_banner" in inspect.signature(server.run).parameters:
        run = functools.partial(run, show_banner=False)
    run()
