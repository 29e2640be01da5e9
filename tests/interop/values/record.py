"""Writes what a server of `server.py` lists and answers, and what its tools returned, as JSON:
`python record.py NAME.json`, with the Python that has the framework."""

import json
import pathlib
import subprocess
import sys

import jsonschema
import pydantic

from table import TABLE

PROTOCOL = "2025-11-25"


class Client:
    """The least that can call tools over stdio."""

    def __init__(self):
        command = [sys.executable, str(pathlib.Path(__file__).with_name("server.py"))]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.id = 0
        hello = {"name": "record", "version": "1"}
        self.ask("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=hello)
        self.send(method="notifications/initialized")

    def send(self, **message):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self.process.stdin, flush=True)

    def ask(self, method, **params):
        self.id += 1
        self.send(id=self.id, method=method, params=params)
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.id:
                return answer["result"]


def returned():
    """What each tool of the table returned, as JSON, by the name of the tool."""
    for name, annotation, values in TABLE:
        adapter = pydantic.TypeAdapter(annotation)
        for number, value in enumerate(values):
            yield f"{name}_{number}", adapter.dump_python(value, mode="json")


def from_content(blocks):
    """The value of content alone: the text, as JSON if it is JSON; else the block, or all."""
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if not texts:
        return blocks[0] if len(blocks) == 1 else blocks or None
    text = "\n".join(texts)
    try:
        return json.loads(text)
    except ValueError:
        return text


def main():
    client = Client()
    tools = client.ask("tools/list")["tools"]
    values = dict(returned())
    recorded = []
    for tool in tools:
        name, output = tool["name"], tool.get("outputSchema")
        answer = client.ask("tools/call", name=name, arguments={})
        if answer.get("isError"):
            sys.exit(f"{name}: {answer}")
        if output is None:
            structured = answer.get("structuredContent")
            value = from_content(answer["content"]) if structured is None else structured
        else:
            value = values[name]
            # A schema that its own server keeps is what signatures can be believed for.
            jsonschema.validate(answer["structuredContent"], output)
        recorded.append({"definition": tool, "answer": answer, "value": value})
    lines = ",\n".join(json.dumps(it, ensure_ascii=False) for it in recorded)
    pathlib.Path(sys.argv[1]).write_text(f"[\n{lines}\n]\n")


main()
