"""Makes the parser behind `xml` refuse documents that are not well-formed.

The interpreter's own parser stops silently at an error, so that a program would take the part
before it for the whole document. Then an element is not closed, so open elements are counted.
"""

import pyexpat

NO_ELEMENTS = 3
INVALID_TOKEN = 4
ERRORS = {NO_ELEMENTS: "no element found", INVALID_TOKEN: "not well-formed (invalid token)"}

_create = pyexpat.ParserCreate


class Parser:
    """A parser whose last call raises an error if elements were left open."""

    def __init__(self, parser):
        vars(self).update(_parser=parser, _open=0, _elements=0, ErrorCode=0)
        self.StartElementHandler = None
        self.EndElementHandler = None

    def __getattr__(self, name):
        return getattr(self._parser, name)

    def __setattr__(self, name, value):
        if name == "StartElementHandler":
            vars(self)[name] = value
            value = self._counting_starts(value)
        elif name == "EndElementHandler":
            vars(self)[name] = value
            value = self._counting_ends(value)
        setattr(self._parser, name, value)

    def _counting_starts(self, handler):
        counts = vars(self)

        def start(*arguments):
            counts["_open"] += 1
            counts["_elements"] += 1
            if handler is not None:
                return handler(*arguments)

        return start

    def _counting_ends(self, handler):
        counts = vars(self)

        def end(*arguments):
            counts["_open"] -= 1
            if handler is not None:
                return handler(*arguments)

        return end

    def Parse(self, data, isfinal=False):
        parsed = self._parser.Parse(data, isfinal)
        if isfinal:
            self._check()
        return parsed

    def ParseFile(self, file):
        parsed = self._parser.ParseFile(file)
        self._check()
        return parsed

    def _check(self):
        if self._elements and not self._open:
            return
        code = INVALID_TOKEN if self._elements else NO_ELEMENTS
        # The position where reading ended.
        line, column = self.CurrentLineNumber, self.CurrentColumnNumber
        vars(self).update(
            ErrorCode=code,
            ErrorLineNumber=line,
            ErrorColumnNumber=column,
            ErrorByteIndex=self.CurrentByteIndex,
        )
        error = pyexpat.ExpatError(f"{ERRORS[code]}: line {line}, column {column}")
        error.code, error.lineno, error.offset = code, line, column
        raise error


def create(*arguments, **keywords):
    """Creates an XML parser."""
    return Parser(_create(*arguments, **keywords))


create.__name__ = create.__qualname__ = "ParserCreate"
create.__module__ = "pyexpat"
pyexpat.ParserCreate = create
pyexpat.ErrorString = ERRORS.get
