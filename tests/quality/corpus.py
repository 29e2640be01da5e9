"""Runs the corpus: programs as models write them, at their first try, over real servers.

`corpus/WORLD/NAME.task` has a task and, below it, an expression that computes the answer from the
data (`worlds.py`) or from direct calls to the server, never through onecall. `NAME.py` and `NAME.ts`
are the programs. Prints one JSON object for each.
"""

import calendar
import hashlib
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import worlds
from gateway import Gateway

CORPUS = Path(__file__).parent / "corpus"
REGIONS = ["north", "south", "east", "west", "central", "islands"]
SERVICES = (
    "analytics calendar chat ci contacts crm finance handbook helpdesk observability office "
    "orders_db people rates sales sheets shop team warehouse_db"
).split()
LANGUAGES = {".py": "python", ".ts": "typescript"}


class Service:
    """A service of the benchmark, called without onecall."""

    def __init__(self, entry):
        command = [entry["command"], *entry["args"]]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._next = 0
        client = {"name": "quality", "version": "1"}
        self._request(
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client},
        )

    def call(self, tool, arguments):
        """The value of a call."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        text = result["content"][0]["text"]
        if result.get("isError"):
            raise ValueError(text)
        if "structuredContent" in result:
            return result["structuredContent"]
        try:
            return json.loads(text)
        except ValueError:
            return text

    def close(self):
        """Ends the service."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _request(self, method, parameters):
        self._next += 1
        message = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": parameters}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        response = json.loads(self._process.stdout.readline())
        if "error" in response:
            raise ValueError(response["error"]["message"])
        return response["result"]


class Answers:
    """Computes the answers of tasks."""

    def __init__(self, world):
        self._world = world
        self._services = {}
        self._names = {
            **{name: getattr(worlds, name) for name in dir(worlds) if not name.startswith("_")},
            "Counter": Counter,
            "Decimal": Decimal,
            "REGIONS": REGIONS,
            "ROUND_HALF_UP": ROUND_HALF_UP,
            "calendar": calendar,
            "call": self.call,
            "converted": converted,
            "customer": {it["id"]: it for it in worlds.customers},
            "date": date,
            "datetime": datetime,
            "days": days,
            "file_size": lambda name: (world.files / name).stat().st_size,
            "git_output": self._git_output,
            "hashlib": hashlib,
            "lines": lines,
            "math": math,
            "now": lambda zone: datetime.now(ZoneInfo(zone)),
            "pages": self.pages,
            "price": {it["id"]: it["price_cents"] for it in worlds.products},
            "product": {it["id"]: it for it in worlds.products},
            "ranked": ranked,
            "statistics": statistics,
            "totals": totals,
        }

    def of(self, expression):
        """The answer as the text that a program has to print."""
        return str(eval(expression, self._names)).strip()

    def call(self, service, tool, arguments):
        """The value of a direct call to a service."""
        if service not in self._services:
            entry = worlds.service_entry(service, self._world.folder / "direct.jsonl")
            self._services[service] = Service(entry)
        return self._services[service].call(tool, arguments)

    def pages(self, service, tool, key, arguments=None):
        """The entries of all pages of a list."""
        entries, cursor = [], {}
        while True:
            page = self.call(service, tool, {**(arguments or {}), **cursor})
            entries.extend(page[key])
            if not page.get("next_cursor"):
                return entries
            cursor = {"cursor": page["next_cursor"]}

    def close(self):
        """Ends the services."""
        for service in self._services.values():
            service.close()

    def _git_output(self, *arguments):
        command = ["git", *arguments]
        return subprocess.run(
            command, cwd=self._world.repository, check=True, capture_output=True, text=True
        ).stdout


def lines(items):
    """Items on lines of their own."""
    return "\n".join(map(str, items))


def ranked(counts, limit=None):
    """Names with their counts, the largest first, equal ones in alphabetical order."""
    order = sorted(counts.items(), key=lambda it: (-it[1], it[0]))
    return lines(f"{name} {count}" for name, count in order[:limit])


def totals(pairs):
    """The sums of values by name."""
    sums = Counter()
    for name, value in pairs:
        sums[name] += value
    return sums


def days(first, count):
    """Days from the first on."""
    return [str(date.fromisoformat(first) + timedelta(days=it)) for it in range(count)]


def converted(source, time, target):
    """A time of today in one time zone as a moment in another."""
    zone = ZoneInfo(source)
    hour, minute = map(int, time.split(":"))
    moment = datetime.now(zone).replace(hour=hour, minute=minute, second=0, microsecond=0)
    return moment.astimezone(ZoneInfo(target))


def main():
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    programs = sorted(it for it in CORPUS.glob("*/*") if it.suffix in LANGUAGES)[::every]
    with tempfile.TemporaryDirectory() as folder:
        world = worlds.World(folder)
        answers = Answers(world)
        with Gateway({"mcpServers": world.configuration(SERVICES)}) as gateway:
            # Listing all tools waits until every server has started.
            gateway.call("list_callable_tools")
            for program in programs:
                print(json.dumps(run(gateway, world, answers, program)), flush=True)
        answers.close()


def run(gateway, world, answers, path):
    """Runs one program in a new world: its report."""
    world.reset()
    _, expression = path.with_suffix(".task").read_text().split("\n", 1)
    expected = answers.of(expression.strip())
    code = path.read_text().replace("FOLDER", str(world.files))
    code = code.replace("REPOSITORY", str(world.repository))
    printed, failed = gateway.execute(code, language=LANGUAGES[path.suffix])
    report = {"program": str(path.relative_to(CORPUS)), "language": LANGUAGES[path.suffix]}
    report["success"] = failed is None and printed.strip() == expected
    if not report["success"]:
        report.update(expected=expected, printed=printed.strip(), failure=failed)
    return report


if __name__ == "__main__":
    main()
