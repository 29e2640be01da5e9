"""Reads from a tool's input schema how a value of an argument is to be written."""

# The schema comes from a server: only so many of its parts are examined.
MAX_PARTS = 1000

ANY = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))

COMBINED = ("anyOf", "oneOf", "allOf")


class SchemaForms:
    """The parts of a schema that apply to the values of one call."""

    def __init__(self, schema):
        self._ask = schema
        self._root = None

    def kinds(self, path):
        """The JSON types that are accepted at this path."""
        kinds = set()
        for part in self._parts(path):
            kinds |= _kinds(part)
        if "number" in kinds or "integer" in kinds:
            kinds |= {"number", "integer"}
        return kinds or ANY

    def encodings(self, path):
        """The encodings for binary data at this path."""
        names = ("contentEncoding", "format")
        found = {part.get(name) for part in self._parts(path) for name in names}
        return {name.lower() for name in found if isinstance(name, str)}

    def _parts(self, path):
        if self._root is None:
            self._root = self._ask()
        parts = self._expanded([self._root])
        for step in path:
            inner = [_inner(part, step) for part in parts]
            parts = self._expanded([part for part in inner if part is not None])
        return parts

    def _expanded(self, parts):
        """These parts and everything that they refer to."""
        found, seen = [], set()
        while parts and len(found) < MAX_PARTS:
            part = parts.pop(0)
            if not isinstance(part, dict) or id(part) in seen:
                continue
            seen.add(id(part))
            found.append(part)
            if isinstance(part.get("$ref"), str):
                parts.append(self._target(part["$ref"]))
            for name in COMBINED:
                if isinstance(part.get(name), list):
                    parts.extend(part[name][:MAX_PARTS])
        return found

    def _target(self, reference):
        """The target of a reference within the same schema; other references are never followed."""
        target = self._root
        if not reference.startswith("#"):
            return None
        for step in reference[1:].split("/")[1:MAX_PARTS]:
            step = step.replace("~1", "/").replace("~0", "~")
            target = target.get(step) if isinstance(target, dict) else None
        return target


def _inner(part, step):
    """The part of a schema that applies to an entry or an item."""
    if isinstance(step, str):
        properties = part.get("properties")
        if isinstance(properties, dict) and step in properties:
            return properties[step]
        return part.get("additionalProperties")
    for name in ("prefixItems", "items"):
        first = part.get(name)
        if isinstance(first, list) and step < len(first):
            return first[step]
    return part.get("items")


def _kinds(part):
    """The JSON types that a part names itself."""
    kinds = part.get("type")
    if isinstance(kinds, str):
        return {kinds}
    if isinstance(kinds, list):
        return {kind for kind in kinds if isinstance(kind, str)}
    choices = part.get("enum", [part["const"]] if "const" in part else None)
    if isinstance(choices, list):
        return {_kind(choice) for choice in choices[:MAX_PARTS]}
    says_nothing = "$ref" not in part and not any(name in part for name in COMBINED)
    return ANY if says_nothing else set()


def _kind(value):
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array"}
    return names.get(type(value), "object")
