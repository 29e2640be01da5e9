"""Reads from the source of an XML document what the interpreter's parser does not report.

The parser knows the names of elements without their prefixes, does not report namespace declarations,
and stops at an error without a reason.
"""

import codecs
import functools
import re

SYNTAX = 2
NO_ELEMENTS = 3
INVALID_TOKEN = 4
UNCLOSED_TOKEN = 5
TAG_MISMATCH = 7
DUPLICATE_ATTRIBUTE = 8
JUNK_AFTER_DOCUMENT = 9
UNDEFINED_ENTITY = 11
MISPLACED_DECLARATION = 17
UNBOUND_PREFIX = 27
ERRORS = {
    SYNTAX: "syntax error",
    NO_ELEMENTS: "no element found",
    INVALID_TOKEN: "not well-formed (invalid token)",
    UNCLOSED_TOKEN: "unclosed token",
    TAG_MISMATCH: "mismatched tag",
    DUPLICATE_ATTRIBUTE: "duplicate attribute",
    JUNK_AFTER_DOCUMENT: "junk after document element",
    UNDEFINED_ENTITY: "undefined entity",
    MISPLACED_DECLARATION: "XML or text declaration not at start of entity",
    UNBOUND_PREFIX: "unbound prefix",
}

# The beginning of a document in bytes, up to the name of its encoding.
_DECLARED = rb"""\s*<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)"""
_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

_MARKUP = r"""(?sx)<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>
    |<!DOCTYPE(?P<doctype>[^\[>]*(?:\[.*?\]\s*)?)>
    |</(?P<end>[^\s<>/]+)\s*>
    |<(?P<start>[^\s<>/!?=&"']+)(?P<attributes>(?:\s+[^\s<>/=]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?P<empty>/?)>
    |(?P<bad><|&(?!\#\d+;|\#x[0-9A-Fa-f]+;|[A-Za-z_:][\w.:-]*;)[\w.:-]*)
    |&(?P<entity>[A-Za-z_:][\w.:-]*);"""
_ATTRIBUTE = r"""([^\s=]+)\s*=\s*("[^"]*"|'[^']*')"""
_ENTITY = r"&([A-Za-z_:][\w.:-]*);"
_REFERENCE = r"&(?:#(\d+)|#x([0-9A-Fa-f]+)|([a-z]+));"
_TEXT = r"\s*([^\s<])"
_ENTITY_DECLARATION = r"<!ENTITY\s+([A-Za-z_:][\w.:-]*)\s"
_PREDEFINED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


# Patterns are compiled at their first use: most programs read no XML.
pattern = functools.cache(re.compile)


def decoder(first, encoding):
    """A function that decodes the parts of a document, given its first part."""
    if isinstance(first, str):
        # The end of a text may be announced with empty bytes.
        return lambda part: part if isinstance(part, str) else part.decode()
    if encoding is None:
        found = pattern(_DECLARED).match(first)
        marks = [name for mark, name in _BYTE_ORDER_MARKS if first.startswith(mark)]
        encoding = marks[0] if marks else found[1].decode() if found else "utf-8"
    try:
        return codecs.getincrementaldecoder(encoding)("replace").decode
    except LookupError:
        return codecs.getincrementaldecoder("utf-8")("replace").decode


def _replacement(reference):
    """The character that a reference stands for."""
    decimal, hexadecimal, name = reference.groups()
    if name:
        return _PREDEFINED.get(name, reference[0])
    return chr(int(decimal) if decimal else int(hexadecimal, 16))


class Tag:
    """The start of an element: its name as written, the namespaces that it declares, its attributes."""

    def __init__(self, name, attributes):
        self.name = name
        self.attributes = pattern(_ATTRIBUTE).findall(attributes)
        self.declared = []
        self.prefixed = []
        for key, quoted in self.attributes:
            if key == "xmlns" or key.startswith("xmlns:"):
                uri = pattern(_REFERENCE).sub(_replacement, quoted[1:-1])
                self.declared.append((key[6:], uri))
            else:
                self.prefixed.append(key)


class Tags:
    """The starts of elements in a document, in their order."""

    def __init__(self):
        self.text = ""
        self.position = 0

    def feed(self, text):
        self.text = self.text[self.position :] + text
        self.position = 0

    def next(self):
        while True:
            found = pattern(_MARKUP).search(self.text, self.position)
            if found is None:
                return Tag("", "")
            self.position = found.end()
            if found["start"]:
                return Tag(found["start"], found["attributes"])


def first_error(text):
    """The code of the first error in a document, and its position in the text; None if there is none."""
    names, scopes, entities, has_root = [], [{"xml", "xmlns"}], set(_PREDEFINED), False
    before_root = pattern(_TEXT).match(text.removeprefix("\ufeff"))
    if before_root:
        return (SYNTAX if before_root[1].isalnum() else INVALID_TOKEN), before_root.start(1)
    for found in pattern(_MARKUP).finditer(text):
        position = found.start()
        if found.group().startswith("<?xml ") and position > 0:
            return MISPLACED_DECLARATION, position
        if found["bad"]:
            is_unclosed = found["bad"] == "<" and text.find(">", position) < 0
            return (UNCLOSED_TOKEN, position) if is_unclosed else (INVALID_TOKEN, found.end("bad"))
        if found["doctype"]:
            entities.update(pattern(_ENTITY_DECLARATION).findall(found["doctype"]))
        elif found["entity"] and found["entity"] not in entities:
            return UNDEFINED_ENTITY, position
        elif found["end"]:
            if not names or names.pop() != found["end"]:
                return TAG_MISMATCH, position + 2
            scopes.pop()
        elif found["start"]:
            if has_root and not names:
                return JUNK_AFTER_DOCUMENT, position
            has_root = True
            error = _error_in_tag(found, scopes, entities)
            if error is not None:
                return error
            if not found["empty"]:
                names.append(found["start"])
            else:
                scopes.pop()
        if has_root and not names:
            junk = pattern(_TEXT).match(text, found.end())
            if junk:
                return JUNK_AFTER_DOCUMENT, junk.start(1)
    if names or not has_root:
        return NO_ELEMENTS, len(text)
    return None


def _error_in_tag(found, scopes, entities):
    """The error in a start tag; adds the prefixes that it declares to the scopes."""
    tag = Tag(found["start"], found["attributes"])
    begin = found.start("attributes")
    for entity in pattern(_ENTITY).finditer(found["attributes"]):
        if entity[1] not in entities:
            return UNDEFINED_ENTITY, found.start()
    seen = set()
    for attribute in pattern(_ATTRIBUTE).finditer(found["attributes"]):
        if attribute[1] in seen:
            return DUPLICATE_ATTRIBUTE, begin + attribute.start()
        seen.add(attribute[1])
    scopes.append(scopes[-1] | {prefix for prefix, _ in tag.declared})
    for name in (tag.name, *tag.prefixed):
        prefix, colon, _ = name.partition(":")
        if colon and prefix not in scopes[-1]:
            return UNBOUND_PREFIX, found.start()
    return None
