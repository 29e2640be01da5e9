"""Encodes and decodes the lines of JSON that are exchanged with onecall."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

# Python's parser refuses longer integers by default.
_DIGITS = 4000


def encode(message: dict) -> bytes:
    """Encodes a message as one line. Raises ValueError or TypeError if it is not JSON."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":"), default=_plain)
    return text.encode("ascii") + b"\n"


def to_text(value: Any) -> str:
    """A value as JSON text that Python reads again. An integer with more digits than Python
    reads is described in words."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain)
    except ValueError:
        return json.dumps(_readable(value), ensure_ascii=False, allow_nan=False, default=_plain)


def decode(line: bytes) -> Any:
    """Decodes a line; integers may have any size."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(line, parse_int=_long_integer)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _readable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_readable(item) for item in value]
    if isinstance(value, int) and value.bit_length() > _DIGITS * 3:
        return f"(an integer of {value.bit_length()} bits)"
    return value


def _long_integer(digits: str) -> int:
    if len(digits) <= _DIGITS:
        return int(digits)
    sign, digits = (-1, digits[1:]) if digits.startswith("-") else (1, digits)
    number = 0
    for start in range(0, len(digits), _DIGITS):
        part = digits[start : start + _DIGITS]
        number = number * 10 ** len(part) + int(part)
    return sign * number
