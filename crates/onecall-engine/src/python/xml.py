"""Makes the parser behind `xml` report what programs need: errors, prefixes and namespaces.

The interpreter's own parser stops silently at an error, so that a program would take the part
before it for the whole document. Then an element is not closed, so open elements are counted, and
the source says what is wrong. The encoding that a document declares is about bytes; the parser would
also apply it to a text.
"""

import pyexpat

from _onecall_xml_source import ERRORS, INVALID_TOKEN, NO_ELEMENTS, Tags, decoder, first_error, pattern

# The declaration of a document, up to its encoding, and the encoding.
_ENCODING = r"""(\s*<\?xml\s[^>]*?)(\sencoding\s*=\s*(?:"[^"]*"|'[^']*'))"""

# A document that is larger is not kept until its end, so its errors are explained less well.
_MOST_KEPT = 16 * 1024 * 1024

_create = pyexpat.ParserCreate


class Parser:
    """A parser whose last call raises an error if the document is not well-formed."""

    def __init__(self, parser, encoding, separator):
        vars(self).update(
            _parser=parser,
            _encoding=encoding,
            _separator=separator,
            _decode=None,
            _parts=[],
            _kept=0,
            # The starts of elements, if the parser's names do not suffice.
            _tags=None,
            _open_tags=[],
            _open=0,
            _elements=0,
            ErrorCode=0,
        )
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

        def start(name, attributes):
            if counts["_elements"] and not counts["_open"]:
                self._fail()
            counts["_open"] += 1
            counts["_elements"] += 1
            if self._tags is not None:
                name, attributes = self._start_tag(name, attributes)
            if handler is not None:
                return handler(name, attributes)

        return start

    def _counting_ends(self, handler):
        counts = vars(self)

        def end(name):
            counts["_open"] -= 1
            tag = None
            if self._tags is not None:
                tag = self._open_tags.pop()
                name = self._written(name, tag.name)
            if handler is not None:
                handler(name)
            if tag is not None and self.EndNamespaceDeclHandler is not None:
                for prefix, _ in reversed(tag.declared):
                    self.EndNamespaceDeclHandler(prefix)

        return end

    def _start_tag(self, name, attributes):
        """Reports the namespaces that an element declares; returns its names as the program expects them."""
        tag = self._tags.next()
        self._open_tags.append(tag)
        if self._separator is not None and self.StartNamespaceDeclHandler is not None:
            for prefix, uri in tag.declared:
                self.StartNamespaceDeclHandler(prefix, uri)
        is_flat = isinstance(attributes, list)
        given = list(zip(attributes[::2], attributes[1::2])) if is_flat else list(attributes.items())
        if len(given) == len(tag.prefixed):
            given = [(self._written(key, written), value) for (key, value), written in zip(given, tag.prefixed)]
        if self._separator is None:
            values = iter([value for _, value in given])
            declared = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in tag.declared}
            given = [
                (key, declared[key] if key in declared else next(values, "")) for key, _ in tag.attributes
            ]
        attributes = [part for pair in given for part in pair] if is_flat else dict(given)
        return self._written(name, tag.name), attributes

    def _written(self, name, written):
        """A name of the parser, with the prefix that the document has, if the program wants it."""
        if self._separator is None:
            return written
        prefix, colon, _ = written.partition(":")
        if colon and self.namespace_prefixes and self._separator in name:
            return f"{name}{self._separator}{prefix}"
        return name

    def _begin(self, data):
        vars(self)["_decode"] = decoder(data, self._encoding)
        wants_names = (
            self._separator is None
            or self.namespace_prefixes
            or self.StartNamespaceDeclHandler is not None
            or self.EndNamespaceDeclHandler is not None
        )
        marks = ("xmlns", "xml:") if isinstance(data, str) else (b"xmlns", b"xml:")
        if wants_names and any(mark in data for mark in marks):
            vars(self)["_tags"] = Tags()

    def Parse(self, data, isfinal=False):
        if self._decode is None:
            if isinstance(data, str):
                # Blanks keep the positions in errors right.
                data = pattern(_ENCODING).sub(lambda found: found[1] + " " * len(found[2]), data, count=1)
            elif not isinstance(data, bytes):
                data = bytes(data)
            self._begin(data)
        if self._tags is not None:
            self._tags.feed(self._decode(data))
        if self._kept <= _MOST_KEPT:
            vars(self)["_kept"] += len(data)
            self._parts.append(data)
        parsed = self._parser.Parse(data, isfinal)
        if isfinal:
            self._check()
        return parsed

    def ParseFile(self, file):
        return self.Parse(file.read(), True)

    def _source(self):
        """The whole document; None if it was too large to keep."""
        if self._kept > _MOST_KEPT:
            return None
        decode = decoder(self._parts[0], self._encoding)
        return "".join([decode(part) for part in self._parts])

    def _check(self):
        if not self._elements or self._open or not self._ends_with_tag():
            self._fail()

    def _fail(self):
        """Raises the first error of the document, if there is one."""
        source = self._source()
        found = None if source is None else first_error(source)
        if found is not None:
            code, position = found
            line = source.count("\n", 0, position) + 1
            column = position - (source.rfind("\n", 0, position) + 1)
        elif self._elements and not self._open:
            return
        else:
            # The position where reading ended.
            code = INVALID_TOKEN if self._elements else NO_ELEMENTS
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

    def _ends_with_tag(self):
        """Whether nothing but white space follows the last tag of the document."""
        last = next((part for part in reversed(self._parts) if part.strip()), b">")
        return last.rstrip().endswith(">" if isinstance(last, str) else b">")


def create(encoding=None, namespace_separator=None, **keywords):
    """Creates an XML parser."""
    if isinstance(encoding, str) and encoding:
        keywords["encoding"] = encoding
    parser = _create(namespace_separator=namespace_separator, **keywords)
    return Parser(parser, encoding, namespace_separator)


create.__name__ = create.__qualname__ = "ParserCreate"
create.__module__ = "pyexpat"
pyexpat.ParserCreate = create
pyexpat.ErrorString = ERRORS.get
