"""The floor that no server in Python can go below: reads a program as a line of
JSON, runs it in this process, answers what it printed as a line of JSON.

Arguments, if any, are the command of an MCP server to start; programs call its
tools with `call(name, **arguments)`.
"""

import contextlib
import io
import json
import subprocess
import sys


class Downstream:
    def __init__(self, command):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=1 << 16)
        self.last_id = 0
        client = {"name": "floor", "version": "1"}
        self.request(
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client},
        )
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, name, **arguments):
        result = self.request("tools/call", {"name": name, "arguments": arguments})
        return json.loads(result["content"][0]["text"])


def main():
    answers = sys.stdout
    scope = {"__name__": "__main__"}
    if len(sys.argv) > 1:
        scope["call"] = Downstream(sys.argv[1:]).call
    for line in sys.stdin:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(json.loads(line), "<program>", "exec"), dict(scope))
        answers.write(json.dumps(output.getvalue()) + "\n")
        answers.flush()


main()
