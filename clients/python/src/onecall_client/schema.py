"""Derives the JSON Schemas of arguments and result from the signature of a function."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import json
import types
import typing
from typing import Any, Callable, Dict, Optional

_SIMPLE = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
    list: "array",
    tuple: "array",
    set: "array",
    frozenset: "array",
    dict: "object",
}
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


def input_schema(function: Callable[..., Any]) -> Dict[str, Any]:
    """The schema of the keyword arguments of a function."""
    hints = _hints(function)
    properties: Dict[str, Any] = {}
    required = []
    open_ended = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise TypeError(
                f"{function.__name__}: '{parameter.name}' cannot be passed by keyword, "
                "and arguments of tools are"
            )
        schema = type_schema(hints.get(parameter.name, Any))
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif _is_json(parameter.default):
            schema = {**schema, "default": parameter.default}
        properties[parameter.name] = schema
    schema = {"type": "object", "properties": properties, "required": required}
    if not open_ended:
        schema["additionalProperties"] = False
    return schema


def output_schema(function: Callable[..., Any]) -> Optional[Dict[str, Any]]:
    """The schema of the return value of a function; None if its annotation does not declare one."""
    try:
        schema = type_schema(_hints(function).get("return", Any))
    except Exception:  # the annotations of a class cannot be evaluated
        return None
    return schema if schema and _is_json(schema) else None


def _hints(function: Callable[..., Any]) -> Dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # annotations that cannot be evaluated are ignored
        return {}


def type_schema(annotation: Any) -> Dict[str, Any]:
    """The schema of a type; an empty schema for a type that JSON does not have."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is getattr(typing, "Annotated", None):
        return _annotated(arguments)
    if origin in _UNIONS:
        return {"anyOf": [type_schema(argument) for argument in arguments]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if hasattr(annotation, "__total__"):  # a TypedDict, which Python 3.9 cannot recognise
        hints = typing.get_type_hints(annotation, include_extras=True)
        return _object(hints, sorted(getattr(annotation, "__required_keys__", hints)))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return {"enum": [member.value for member in annotation]}
    if dataclasses.is_dataclass(annotation):
        fields = dataclasses.fields(annotation)
        missing = dataclasses.MISSING
        needed = [f.name for f in fields if f.default is missing and f.default_factory is missing]
        return _object(typing.get_type_hints(annotation), needed)
    kind = _SIMPLE.get(origin or annotation)
    if kind is None:
        return {}
    if kind == "array" and arguments and (origin is not tuple or arguments[1:] == (...,)):
        return {"type": "array", "items": type_schema(arguments[0])}
    if kind == "object" and len(arguments) == 2:
        return {"type": "object", "additionalProperties": type_schema(arguments[1])}
    return {"type": kind}


def _annotated(arguments: tuple) -> Dict[str, Any]:
    schema = type_schema(arguments[0])
    described: Optional[str] = next((it for it in arguments[1:] if isinstance(it, str)), None)
    return schema if described is None else {**schema, "description": described}


def _object(hints: Dict[str, Any], required: list) -> Dict[str, Any]:
    properties = {name: type_schema(hint) for name, hint in hints.items()}
    return {"type": "object", "properties": properties, "required": required}


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True
