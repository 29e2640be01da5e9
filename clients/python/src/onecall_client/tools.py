"""Tools that programs can call, and the functions and routers that execute them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Union

from .schema import input_schema, output_schema

#: Executes any tool of an environment: `(tool_name, arguments) -> value`, or a coroutine.
Router = Callable[[str, Dict[str, Any]], Any]


@dataclass
class Tool:
    """A tool that programs can call."""

    name: str
    #: Takes the arguments by keyword; plain or async. None: the client's router executes it.
    function: Optional[Callable[..., Any]] = None
    description: Optional[str] = None
    input_schema: Dict[str, Any] = field(default_factory=dict)
    #: Annotations as in MCP, for example `{"readOnlyHint": True}`.
    annotations: Optional[Dict[str, Any]] = None
    #: The schema of the result. A string is parsed as JSON if the schema is that of another type.
    output_schema: Optional[Dict[str, Any]] = None

    @classmethod
    def of(cls, given: Union["Tool", Callable[..., Any], Mapping[str, Any]]) -> "Tool":
        """Makes a tool from a function or from a definition as in MCP; returns a Tool unchanged."""
        if isinstance(given, Tool):
            return given
        if isinstance(given, Mapping):
            # OpenAI's form has the definition one level down.
            given = given["function"] if given.get("type") == "function" else given
            return cls(
                name=given["name"],
                description=given.get("description"),
                input_schema=dict(given.get("inputSchema") or given.get("parameters") or {}),
                annotations=given.get("annotations"),
                output_schema=given.get("outputSchema"),
            )
        if not callable(given):
            raise TypeError(f"a tool is a function, a Tool or a definition, not {given!r}")
        return cls(
            given.__name__,
            given,
            inspect.getdoc(given),
            input_schema(given),
            output_schema=output_schema(given),
        )

    def definition(self) -> Dict[str, Any]:
        """The definition of the tool as it is sent to onecall."""
        definition: Dict[str, Any] = {"name": self.name, "inputSchema": self.input_schema}
        if self.description:
            definition["description"] = self.description
        if self.annotations:
            definition["annotations"] = self.annotations
        if self.output_schema:
            definition["outputSchema"] = self.output_schema
        return definition


class UnknownTool(LookupError):
    """No function or router executes a tool of this name."""


class Toolbox:
    """The tools of a client, from all its environments."""

    def __init__(
        self,
        tools: Optional[Iterable[Any]] = None,
        environments: Optional[Mapping[str, Union[Iterable[Any], Router]]] = None,
        router: Optional[Router] = None,
    ) -> None:
        self._tools: Dict[str, Tool] = {}
        self._routers: Dict[str, Router] = {}
        self._router = router
        for given in tools or ():
            self._add(Tool.of(given))
        for prefix, environment in (environments or {}).items():
            if callable(environment):
                self._routers[prefix] = environment
                continue
            for given in environment:
                tool = Tool.of(given)
                self._add(replace(tool, name=prefix + tool.name))
        # The tools of a router are unknown here, unless they are listed.
        self._is_open = bool(self._routers) or (router is not None and tools is None)
        for tool in self._tools.values():
            if tool.function is None and self._find_router(tool.name) is None:
                raise ValueError(f"nothing executes '{tool.name}': give it a function or a router")

    def definitions(self) -> Optional[List[Dict[str, Any]]]:
        """The definitions of all tools; None if a router may have others."""
        if self._is_open:
            return None
        return [tool.definition() for tool in self._tools.values()]

    def call(self, name: str, arguments: Dict[str, Any]) -> Callable[[], Any]:
        """The function call that executes a tool. Raises UnknownTool if there is none."""
        tool = self._tools.get(name)
        if tool is not None and tool.function is not None:
            function = tool.function
            try:
                inspect.signature(function).bind(**arguments)
            except TypeError as error:
                raise UnknownTool(str(error)) from None
            except ValueError:
                pass  # a builtin without a signature
            return _Bound(function, (), arguments)
        found = self._find_router(name)
        if found is None:
            known = ", ".join([*self._tools, *(f"{prefix}*" for prefix in self._routers)])
            raise UnknownTool(f"there is no tool '{name}'; there are: {known or 'none'}")
        router, inner_name = found
        return _Bound(router, (inner_name, arguments), {})

    def _add(self, tool: Tool) -> None:
        if tool.name in self._tools:
            raise ValueError(f"two tools are named '{tool.name}'")
        self._tools[tool.name] = tool

    def _find_router(self, name: str):
        prefixes = [prefix for prefix in self._routers if name.startswith(prefix)]
        if prefixes:
            prefix = max(prefixes, key=len)
            return self._routers[prefix], name[len(prefix) :]
        return None if self._router is None else (self._router, name)


class _Bound:
    """A function and its arguments."""

    def __init__(self, function: Callable[..., Any], args: tuple, kwargs: Dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        call = getattr(function, "__call__", None)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)
