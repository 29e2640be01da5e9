"""Stores what the reference answers to each program of this folder, in answers/THEME.json.

    python record.py [THEME …]    with the Python of an environment that has the SDK

Answers of onecall that are stored beside those of the reference stay as they are.
"""

import json
import pathlib
import select
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent

# A program that blocks the reference's event loop cannot be stopped by its timeout.
PATIENCE = 20

# What programs of a theme may use, as in a configuration of onecall.
LIMITS = json.loads((FOLDER / "limits.json").read_text())


SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")


def programs(path):
    """The programs of a file by name; each begins with `#%% NAME`, `#% better: …` is about it."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("#%% "):
            found[line[4:].strip()] = lines = []
        elif not line.startswith("#% better: "):
            lines.append(line)
    return {name: "".join(lines).strip("\n") + "\n" for name, lines in found.items()}


def compared(text):
    """The part of an answer that is compared: the output, or the exception's type and message.

    The words of a syntax error are the parser's own, so that only its type counts.
    """
    head, rest = text.split("\n", 1)
    if head == "[Script executed successfully]":
        return {"output": rest}
    lines = rest.rstrip("\n").split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("Traceback ")]
    lines = lines[starts[-1] + 1 :] if starts else lines
    while len(lines) > 1 and lines[0].startswith("  "):
        lines = lines[1:]
    kind = lines[0].split(":")[0]
    return {"error": kind if kind in SYNTAX_ERRORS else "\n".join(lines)}


class Reference:
    """A running reference, started again after programs that end or block it."""

    def __init__(self):
        self.process = None

    def answer(self, code, limits):
        if self.process is None:
            command = [sys.executable, FOLDER / "reference.py", FOLDER / "server.py"]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
            )
        self.process.stdin.write(json.dumps({"code": code, **limits}) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], limits["timeout_seconds"] + PATIENCE)[0]:
            return self.stop("blocks the server for ever")
        line = self.process.stdout.readline()
        return compared(json.loads(line)) if line else self.stop("ends the server")

    def stop(self, what=None):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None
        return {"server": what}


def record(theme):
    path = FOLDER / "answers" / f"{theme}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    after = {}
    reference = Reference()
    for name, code in programs(FOLDER / "programs" / f"{theme}.py").items():
        after[name] = {"reference": reference.answer(code, LIMITS.get(theme, LIMITS["usual"]))}
        if "onecall" in before.get(name, {}):
            after[name]["onecall"] = before[name]["onecall"]
    reference.stop()
    path.write_text(json.dumps(after, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{theme}: {len(after)} programs")


if __name__ == "__main__":
    themes = sys.argv[1:] or sorted(path.stem for path in (FOLDER / "programs").glob("*.py"))
    for theme in themes:
        record(theme)
