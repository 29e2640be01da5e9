"""`display`: what a program shows beside its text."""

import io
import os
from binascii import b2a_base64

import _onecall as wire
from _onecall_content import content_of

# Bytes of images that one program may display, before base64.
MAX_BYTES = 6 * 1024 * 1024

# The first bytes of the formats that clients can display.
SIGNATURES = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
]

_displayed_bytes = 0


def begin():
    """Resets the limit for the next program of this process."""
    global _displayed_bytes
    _displayed_bytes = 0


def display(*values):
    """Shows images: PNG, JPEG, GIF or WebP bytes, a file with them, the images of a tool's result,
    a figure. Anything else is printed."""
    for value in values:
        images = [block for block in content_of(value) or () if _is_block(block)]
        if images:
            display(*images)
        elif isinstance(value, (list, tuple)) and value and all(map(_is_block, value)):
            display(*value)
        elif _is_block(value):
            _show(value["type"], str(value["data"]), str(value["mimeType"]))
        else:
            data = _bytes_of(value)
            if data is None:
                print(value)
            else:
                _show("image", b2a_base64(data, newline=False).decode(), _format_of(data))


def _is_block(value):
    return (
        isinstance(value, dict)
        and value.get("type") in ("image", "audio")
        and {"data", "mimeType"} <= value.keys()
    )


def _bytes_of(value):
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, os.PathLike):
        with open(value, "rb") as file:
            return file.read(MAX_BYTES + 1)
    for method in "_repr_png_", "_repr_jpeg_":
        draw = getattr(value, method, None)
        data = draw() if callable(draw) else None
        if isinstance(data, bytes):
            return data
    if callable(getattr(value, "savefig", None)):
        file = io.BytesIO()
        value.savefig(file, format="png")
        return file.getvalue()
    return None


def _format_of(data):
    for start, mime_type in SIGNATURES:
        if data.startswith(start):
            return mime_type
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    raise ValueError("display() shows PNG, JPEG, GIF and WebP images; these bytes are none of them")


def _show(kind, data, mime_type):
    global _displayed_bytes
    if _displayed_bytes + len(data) * 3 // 4 > MAX_BYTES:
        raise ValueError(f"a program can display {MAX_BYTES >> 20} MiB in all; make the image smaller")
    wire.show(wire.to_json({"type": kind, "data": data, "mimeType": mime_type}))
    _displayed_bytes += len(data) * 3 // 4
