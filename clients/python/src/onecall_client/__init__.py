"""Runs programs in onecall's sandbox, with your own functions as their tools."""

from .client import Client
from .errors import BinaryNotFound, OnecallError, ProcessLost, ProgramFailed
from .framework import MCPTool, ToolEnvWrapper
from .outcome import Displayed, Outcome, ProgramError, ToolCall, ToolResult
from .programmatic import (
    ProgrammaticToolCallingTool,
    create_programmatic_tool_calling_tool_stdio,
)
from .tools import Tool

__all__ = [
    "BinaryNotFound",
    "Client",
    "Displayed",
    "MCPTool",
    "OnecallError",
    "Outcome",
    "ProcessLost",
    "ProgramError",
    "ProgramFailed",
    "ProgrammaticToolCallingTool",
    "Tool",
    "ToolCall",
    "ToolEnvWrapper",
    "ToolResult",
    "create_programmatic_tool_calling_tool_stdio",
]
