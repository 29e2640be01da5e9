"""Values of answers that have images, audio or resources beside the value."""


class TextWithContent(str):
    """A string; `content` has all blocks of the answer."""


class ListWithContent(list):
    """A list; `content` has all blocks of the answer."""


class DictWithContent(dict):
    """A dict; `content` has all blocks of the answer."""


_KINDS = {str: TextWithContent, list: ListWithContent, dict: DictWithContent}

for _kind in _KINDS.values():
    _kind.__module__ = "builtins"


def with_content(value, content):
    """The value with an attribute `content`; a number, a truth value or `None` has none."""
    kind = _KINDS.get(type(value))
    if kind is None:
        return value
    value = kind(value)
    value.content = content
    return value


def content_of(value):
    """The content of a value that came with some, else `None`."""
    return value.content if isinstance(value, tuple(_KINDS.values())) else None
