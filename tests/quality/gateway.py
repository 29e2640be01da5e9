"""Starts the real binary as an MCP server and calls its tools, as an agent's client does."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

SUCCEEDED = "[Script executed successfully]\n"


class Gateway:
    """A running `onecall serve` with a configuration of its own, and nothing of the user's."""

    def __init__(self, configuration):
        self._folder = tempfile.TemporaryDirectory()
        home = Path(self._folder.name)
        path = home / "onecall.json"
        path.write_text(json.dumps(configuration))
        environment = dict(os.environ, XDG_STATE_HOME=str(home), XDG_CONFIG_HOME=str(home))
        command = [os.environ["ONECALL_BIN"], "serve", "--config", str(path), "--log", "error"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        self._next = 0
        client = {"name": "quality", "version": "1"}
        self._request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()
        self._folder.cleanup()

    def call(self, tool, **arguments):
        """The text of a tool's result, and whether the call failed."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        return "\n".join(texts), bool(result.get("isError"))

    def execute(self, code, **arguments):
        """Runs a program: what it printed, and None or the text of its failure."""
        answer, failed = self.call("execute_program", code=code, **arguments)
        if failed or not answer.startswith(SUCCEEDED):
            return "", answer
        printed = answer[len(SUCCEEDED) :]
        return ("" if printed == "(no output)" else printed), None

    def refusal(self, code, **arguments):
        """Why the check before a run refuses a program; None if it would run."""
        answer, failed = self.call("execute_program", code=code, dry_run=True, **arguments)
        marker = "[It would not run]\n"
        if marker in answer:
            return answer.split(marker, 1)[1]
        return answer if failed else None

    def _request(self, method, parameters):
        self._next += 1
        identity = self._next
        self._send({"jsonrpc": "2.0", "id": identity, "method": method, "params": parameters})
        while True:
            line = self._process.stdout.readline()
            if not line:
                raise RuntimeError(f"onecall ended during {method}")
            message = json.loads(line)
            if message.get("id") != identity:
                continue
            if "error" in message:
                raise RuntimeError(f"{method}: {message['error']['message']}")
            return message["result"]

    def _send(self, message):
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
