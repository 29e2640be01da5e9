"""An MCP server with real tools for plans: SQL on a SQLite file, number crunching, and a
line plot as a PNG file. Standard library only; speaks on stdin and stdout."""

import base64
import json
import os
import sqlite3
import statistics
import struct
import sys
import zlib

WIDTH, HEIGHT = 160, 100


def query(database, sql):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    try:
        return structured([dict(row) for row in connection.execute(sql)])
    finally:
        connection.close()


def smooth(values, window):
    halves = range(len(values))
    parts = (values[max(0, at - window // 2) : at + window // 2 + 1] for at in halves)
    return structured([statistics.fmean(part) for part in parts])


def without_outliers(rows, key, sigmas):
    values = [row[key] for row in rows]
    middle, spread = statistics.fmean(values), statistics.pstdev(values)
    return structured([row for row in rows if abs(row[key] - middle) <= sigmas * spread])


def line_plot(x, y, path, title=""):
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} values and y has {len(y)}")
    image = png(x, y)
    with open(path, "wb") as file:
        file.write(image)
    data = base64.b64encode(image).decode()
    text = f"{title or 'plot'}: {len(x)} points"
    content = [{"type": "text", "text": text}, {"type": "image", "data": data, "mimeType": "image/png"}]
    return {"content": content}


def length(text):
    return structured(len(text))


def text_of(length):
    return {"content": [{"type": "text", "text": "x" * length}]}


def structured(value):
    return {"content": [{"type": "text", "text": json.dumps(value)}], "structuredContent": {"result": value}}


def png(x, y):
    """The points as a polyline, white on black."""
    pixels = [bytearray(WIDTH) for _ in range(HEIGHT)]

    def scaled(values, size):
        low, high = min(values, default=0), max(values, default=1)
        return [round((value - low) / ((high - low) or 1) * (size - 1)) for value in values]

    points = list(zip(scaled(x, WIDTH), scaled(y, HEIGHT)))
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        steps = max(abs(x2 - x1), abs(y2 - y1), 1)
        for step in range(steps + 1):
            column, row = x1 + (x2 - x1) * step // steps, y1 + (y2 - y1) * step // steps
            pixels[HEIGHT - 1 - row][column] = 255

    def chunk(kind, data):
        checksum = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 0, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(row) for row in pixels)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


NUMBERS = {"type": "array", "items": {"type": "number"}}
ROWS = {"type": "array", "items": {"type": "object"}}
TEXT = {"type": "string"}
TOOLS = {
    "query": (query, "Runs an SQL query on a SQLite file.", {"database": TEXT, "sql": TEXT}, []),
    "smooth": (smooth, "Takes a moving average.", {"values": NUMBERS, "window": {"type": "integer", "minimum": 1}}, []),
    "without_outliers": (
        without_outliers,
        "Drops rows far from the mean.",
        {"rows": ROWS, "key": TEXT, "sigmas": {"type": "number"}},
        [],
    ),
    "line_plot": (
        line_plot,
        "Draws a line into a PNG file.",
        {"x": NUMBERS, "y": NUMBERS, "path": TEXT, "title": TEXT},
        ["title"],
    ),
    "length": (length, "Counts characters.", {"text": TEXT}, []),
    "text_of": (text_of, "Makes a long text.", {"length": {"type": "integer"}}, []),
}


def listed():
    for name, (_, description, properties, optional) in TOOLS.items():
        required = [key for key in properties if key not in optional]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        yield {"name": name, "description": description, "inputSchema": schema}


def answer(method, params):
    if method == "initialize":
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": "charts", "version": "1"}}
    if method == "tools/list":
        return {"tools": list(listed())}
    name = params["name"]
    with open(os.environ["CHARTS_LOG"], "a") as log:
        log.write(f"{name}\n")
    try:
        return TOOLS[name][0](**params.get("arguments", {}))
    except Exception as error:
        return {"content": [{"type": "text", "text": str(error)}], "isError": True}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
