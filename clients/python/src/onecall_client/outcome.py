"""The outcome of a program: its output, calls, images, and error."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from .errors import ProgramFailed


@dataclass(frozen=True)
class ToolCall:
    """One call that a program made."""

    tool_name: str
    #: The arguments as a dict; if they were too large, the beginning of their JSON text.
    args: Any
    tool_call_id: str
    #: Whether the call reached the tool.
    parsed: bool
    has_error: bool
    start_seconds: float
    #: The duration of the call; None if the program ended before the call did.
    duration_seconds: Optional[float]


@dataclass(frozen=True)
class ToolResult:
    """The result of a call."""

    tool_call_id: str
    observation: Any
    has_error: bool


@dataclass(frozen=True)
class ProgramError:
    """Why a program failed."""

    type: str
    message: str
    traceback: str
    line: Optional[int]


@dataclass(frozen=True)
class Displayed:
    """An image or a recording that a program showed, in base64."""

    data: str
    mimeType: str


@dataclass(frozen=True)
class Outcome:
    """Everything about a program that has ended."""

    success: bool
    stdout: str
    stderr: str
    return_value: Any
    error: Optional[ProgramError]
    tool_calls: List[ToolCall]
    tool_results: List[ToolResult]
    execution_time_seconds: float
    timeout_limit_seconds: float
    file_path: Optional[str]
    displayed: List[Displayed]

    @classmethod
    def from_message(cls, message: Dict[str, Any]) -> "Outcome":
        """Reads an `outcome` of onecall."""
        fields = _known(cls, message)
        if fields["error"] is not None:
            fields["error"] = ProgramError(**_known(ProgramError, fields["error"]))
        parts = (("tool_calls", ToolCall), ("tool_results", ToolResult), ("displayed", Displayed))
        for name, kind in parts:
            fields[name] = [kind(**_known(kind, part)) for part in fields[name]]
        return cls(**fields)

    def raise_for_error(self) -> "Outcome":
        """Raises ProgramFailed with the traceback if the program failed; otherwise returns itself."""
        if self.error is not None:
            raise ProgramFailed(self.error.traceback)
        return self

    def to_dict(self) -> Dict[str, Any]:
        """The outcome as plain data, ready for `json.dumps`."""
        return dataclasses.asdict(self)


def _known(kind: type, given: Dict[str, Any]) -> Dict[str, Any]:
    # A newer onecall may send fields that this version does not know.
    return {field.name: given[field.name] for field in dataclasses.fields(kind)}
