"""Tools and environments in the manner of agent frameworks, which call a tool by its name."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List

from .errors import described
from .observation import Observation, arguments_of, finished, not_found
from .tools import Toolbox, UnknownTool
from .wire import to_text


class MCPTool:
    """A group of tools that are called by name.

    `MCPTool([list_files, read_file])` has these functions as its tools, plain or async. A
    subclass may execute its tools itself: it overrides `definitions` and `execute_tool`, which
    has to refuse names that are not its own, so that the next tool in line gets the call.
    """

    def __init__(self, functions: Iterable[Any] = ()) -> None:
        self._toolbox = Toolbox(list(functions))

    def __enter__(self):
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Releases resources of the tool. Subclasses that hold resources override this."""

    def definitions(self) -> List[Dict[str, Any]]:
        """The definitions of the tools of this group, in the format of MCP."""
        return self._toolbox.definitions() or []

    def execute_tool(self, tool_name: str, tool_args: Any, tool_call_id: str) -> Observation:
        """Calls a tool. The observation is its value as a text: a string as it is, anything
        else as JSON; or why the call failed."""
        names = [definition["name"] for definition in self.definitions()]
        if tool_name not in names:
            return not_found(tool_name, names, tool_call_id)
        try:
            bound = self._toolbox.call(tool_name, arguments_of(tool_args))
        except (UnknownTool, ValueError) as error:
            return True, True, f"{tool_name}: {error}", tool_name, tool_call_id
        try:
            value = finished(bound())
            text = value if isinstance(value, str) else to_text(value)
        except Exception as error:
            return True, True, described(error), tool_name, tool_call_id
        return True, False, text, tool_name, tool_call_id


class ToolEnvWrapper:
    """An environment with tools. What it does not have itself is looked up in `env`.

    `tools` are `MCPTool`s, or any objects with such an `execute_tool`.
    """

    def __init__(self, env: Any = None, tools: Iterable[Any] = ()) -> None:
        self.env = env
        self.tools = list(tools)

    def __getattr__(self, name: str) -> Any:
        if name in ("env", "tools") or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__} has no {name!r} before it is initialized")
        return getattr(self.env, name)

    def definitions(self) -> List[Dict[str, Any]]:
        """The definitions of all tools that can list them."""
        listing = [tool for tool in self.tools if hasattr(tool, "definitions")]
        return [definition for tool in listing for definition in tool.definitions()]

    def execute_tool(self, tool_name: str, tool_args: Any, tool_call_id: str) -> Observation:
        """Calls the first tool that has this name. An unknown name is an error."""
        for tool in self.tools:
            answer = tool.execute_tool(tool_name, tool_args, tool_call_id)
            if answer[0]:
                return answer
        names = [definition["name"] for definition in self.definitions()]
        return not_found(tool_name, names, tool_call_id)
