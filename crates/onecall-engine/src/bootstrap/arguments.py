"""Writes arguments that are not plain data as JSON, in the way of the usual encoders.

Plain data is written by the lowest layer and does not reach this module.
"""

import datetime
import enum
import math
import os
import sys
import types
from binascii import b2a_base64
from collections import UserString
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, MappingView, Sequence, Set
from io import StringIO
from itertools import islice

import _onecall as wire
from _onecall_schema import SchemaForms

# Copies, because a program may redefine the built-in ones.
getattr, issubclass, len, type = getattr, issubclass, len, type

# Deeper nesting is refused.
MAX_DEPTH = 900

# The limit for a frame.
MAX_TEXT = 64 * 1024 * 1024

# An iterator with more items than this may be infinite.
MAX_ITEMS = 1_000_000

# A large number with fewer zeros than this is written without an exponent.
MAX_ZEROS = 30

# Methods that convert an object into data, in the order in which they are tried.
METHODS = ("__json__", "tolist", "to_dict", "as_dict", "dict", "_asdict")

# Encodings in a schema that stand for base64.
BASE64 = frozenset(("base64", "byte", "base64url"))


def arguments_to_json(arguments, schema):
    """The arguments as JSON. `schema` is a function that returns the input schema of their tool; it
    is called only if the schema decides between two forms of a value."""
    writer = Writer(schema)
    try:
        writer.value(arguments, 0)
    except RecursionError:
        raise writer.too_deep() from None
    return writer.out.getvalue()


def describe_path(path):
    """The path to a value for an error message: `argument 'rows[3].price'`."""
    text = ""
    for step in path:
        if type(step) is int:
            text += f"[{step}]"
        elif not text:
            text = step
        else:
            text += f".{step}" if step.isidentifier() else f'["{step}"]'
    return f"argument {text!r}" if path else "the arguments"


def loaded(module, name):
    """A class or function of a module; nothing if the module is not loaded, because then no value comes
    from it."""
    return getattr(sys.modules.get(module), name, ())


class Writer:
    def __init__(self, schema):
        self.out = StringIO()
        self.length = 0
        self.path = []
        self.forms = SchemaForms(schema)

    def write(self, text):
        self.length += len(text)
        if self.length > MAX_TEXT:
            raise ValueError(f"{describe_path(self.path[:1])} is too large: over {MAX_TEXT} characters")
        self.out.write(text)

    def value(self, value, depth):
        kind = type(value)
        if depth > MAX_DEPTH:
            raise self.too_deep()
        if value is None or kind is bool:
            self.write("null" if value is None else "true" if value else "false")
        elif issubclass(kind, enum.Enum):
            self.value(value.value, depth + 1)
        elif issubclass(kind, str):
            self.string(value)
        elif issubclass(kind, int):
            self.write(wire.to_json(int.__int__(value)))
        elif issubclass(kind, float):
            self.number(float.__float__(value))
        elif issubclass(kind, tuple) and hasattr(kind, "_asdict") and self.wants("object", "array"):
            self.entries(value._asdict(), depth)
        elif issubclass(kind, (list, tuple)):
            self.items(value, depth)
        elif issubclass(kind, Mapping):
            self.entries(value, depth)
        else:
            self.other(value, kind, depth)

    def other(self, value, kind, depth):
        text = self.text(value, kind)
        if text is not None:
            self.string(text)
        elif issubclass(kind, loaded("decimal", "Decimal")):
            self.decimal(value)
        elif issubclass(kind, datetime.timedelta):
            if self.wants("number", "string"):
                self.number(value.total_seconds())
            else:
                self.string(duration(value))
        elif issubclass(kind, (bytes, bytearray, memoryview)):
            self.bytes(bytes(value), depth)
        elif issubclass(kind, (set, frozenset)):
            self.items(in_order(value), depth)
        elif convert := self.conversion(value, kind):
            self.value(self.result_of(convert), depth + 1)
        elif issubclass(kind, (Iterator, Sequence, Set, MappingView)):
            self.items(self.listed(value, kind), depth)
        else:
            raise self.refuse(kind.__name__)

    def text(self, value, kind):
        """The text of a value whose form is always text, such as a date."""
        if issubclass(kind, (datetime.date, datetime.time)):
            text = value.isoformat()
            if text == "NaT":
                raise ValueError(f"{describe_path(self.path)} is NaT, which is not a time")
            return text
        if issubclass(kind, (loaded("uuid", "UUID"), UserString)) or kind.__module__ == "ipaddress":
            return str(value)
        if kind.__name__ == "datetime64":
            return str(value)
        if hasattr(kind, "__fspath__"):
            path = os.fspath(value)
            return path if type(path) is str else os.fsdecode(path)
        return None

    def conversion(self, value, kind):
        """The function that converts an object into data; `None` if no conversion is known."""
        if issubclass(kind, Awaitable):
            raise self.refuse(f"{kind.__name__} that was not awaited", "write await before it")
        if issubclass(kind, AsyncIterator):
            raise self.refuse(kind.__name__, "pass [item async for item in it]")
        if issubclass(kind, type):
            raise self.refuse(f"the class {value.__name__}")
        if callable(getattr(kind, "model_dump", None)):
            return lambda: dumped(value)
        if hasattr(kind, "__dataclass_fields__"):
            return lambda: fields(value, loaded("dataclasses", "fields")(kind))
        if hasattr(kind, "__attrs_attrs__"):
            return lambda: fields(value, kind.__attrs_attrs__)
        if issubclass(kind, types.SimpleNamespace):
            return lambda: vars(value)
        if hasattr(kind, "iterrows"):
            return lambda: value.to_dict(orient="records")
        for name in METHODS:
            if callable(getattr(kind, name, None)):
                return getattr(value, name)
        return None

    def result_of(self, convert):
        try:
            return convert()
        except RecursionError:
            raise
        except Exception as error:
            BaseException.add_note(error, f"while {describe_path(self.path)} was written as JSON")
            raise

    def listed(self, value, kind):
        items = self.result_of(lambda: list(islice(value, MAX_ITEMS + 1)))
        if len(items) > MAX_ITEMS:
            raise ValueError(
                f"{describe_path(self.path)} is {kind.__name__} of more than {MAX_ITEMS} items; "
                "pass a list of those that matter"
            )
        return items

    def string(self, text):
        if not_unicode(text):
            raise ValueError(
                f"{describe_path(self.path)} has a lone surrogate, which is not a Unicode character"
            )
        self.write(wire.to_json(text))

    def number(self, number):
        if not math.isfinite(number):
            shown = "NaN" if math.isnan(number) else number
            raise ValueError(f"{describe_path(self.path)} is {shown}, which JSON cannot represent")
        self.write(repr(number))

    def decimal(self, value):
        if not value.is_finite():
            shown = "NaN" if value.is_nan() else value
            raise ValueError(f"{describe_path(self.path)} is {shown}, which JSON cannot represent")
        text = loaded("decimal", "Decimal").__str__(value)
        if not self.wants("number", "string"):
            self.string(text)
        elif "E+" in text and value.adjusted() < MAX_ZEROS:
            # Some servers do not accept an exponent in an integer.
            self.write(format(value, "f"))
        else:
            self.write(text)

    def bytes(self, value, depth):
        if self.forms.encodings(self.path) & BASE64:
            self.string(b2a_base64(value, newline=False).decode())
        elif self.wants("array", "string"):
            self.items(list(value), depth)
        else:
            try:
                self.string(value.decode())
            except UnicodeDecodeError:
                raise ValueError(
                    f"{describe_path(self.path)} is bytes that are not UTF-8 text; "
                    "if the tool takes base64, pass base64.b64encode(data).decode()"
                ) from None

    def items(self, items, depth):
        self.write("[")
        for index, item in enumerate(items):
            if index:
                self.write(",")
            self.path.append(index)
            self.value(item, depth + 1)
            self.path.pop()
        self.write("]")

    def entries(self, entries, depth):
        self.write("{")
        written = set()
        for key, item in entries.items():
            name = self.key(key)
            if name in written:
                raise ValueError(f"{describe_path(self.path)} has the key {name!r} twice")
            if written:
                self.write(",")
            written.add(name)
            self.string(name)
            self.write(":")
            self.path.append(name)
            self.value(item, depth + 1)
            self.path.pop()
        self.write("}")

    def key(self, key):
        while issubclass(type(key), enum.Enum):
            key = key.value
        kind = type(key)
        if issubclass(kind, str):
            return str.__str__(key)
        if key is None or kind is bool:
            return "null" if key is None else "true" if key else "false"
        if issubclass(kind, int):
            return wire.to_json(int.__int__(key))
        if issubclass(kind, float) and math.isfinite(key):
            return repr(float.__float__(key))
        if issubclass(kind, loaded("decimal", "Decimal")) and key.is_finite():
            return loaded("decimal", "Decimal").__str__(key)
        if issubclass(kind, bytes):
            return key.decode()
        text = self.text(key, kind)
        if text is None:
            is_number = issubclass(kind, (float, loaded("decimal", "Decimal")))
            shown = key if is_number else f"of type {kind.__name__}"
            raise TypeError(f"{describe_path(self.path)} has a key {shown}; keys must be str")
        return text

    def wants(self, kind, usual):
        """Whether the schema accepts this kind of value here, but not the usual one."""
        kinds = self.forms.kinds(self.path)
        return kind in kinds and usual not in kinds

    def too_deep(self):
        return ValueError(f"{describe_path(self.path[:1])} is nested too deeply or contains itself")

    def refuse(self, what, advice="pass str, int, float, bool, None, list or dict"):
        return TypeError(f"{describe_path(self.path)} is {what}, which JSON cannot carry; {advice}")


def not_unicode(text):
    try:
        str.encode(text)
    except UnicodeEncodeError:
        return True
    return False


def in_order(items):
    """The items of a set, sorted if they can be compared, so that the order is always the same."""
    try:
        return sorted(items)
    except TypeError:
        return list(items)


def duration(value):
    """A `timedelta` in the format of ISO 8601."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    seconds = f"{value.seconds}.{value.microseconds:06}".rstrip("0").rstrip(".")
    if not value.microseconds:
        seconds = str(value.seconds)
    days = f"{value.days}D" if value.days else ""
    time = f"T{seconds}S" if seconds != "0" or not days else ""
    return f"{sign}P{days}{time}"


def dumped(model):
    """The data of a model, in the form that it uses for JSON."""
    try:
        return model.model_dump(mode="json", by_alias=True)
    except TypeError:
        return model.model_dump()


def fields(value, known):
    return {field.name: getattr(value, field.name) for field in known}
