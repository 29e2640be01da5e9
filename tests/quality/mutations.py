"""Breaks the gold programs in every usual way and asks the check before a run about each.

Prints one JSON object for each source of gold programs and class of mistakes, and one for each gold
program that the check refuses although nothing is wrong with it.
"""

import json
import os
import random
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import bfcl
import dojo  # before AgentDojo, whose imports it shortens
import worlds
from agentdojo.task_suite.load_suites import get_suites
from corpus import CORPUS, SERVICES
from gateway import Gateway
from mutator import Mutator
from typescript_mutator import TypeScriptMutator

ROOT = Path(__file__).parents[2]
SHOWN = 3
MUTATORS = {"python": Mutator, "typescript": TypeScriptMutator}
ENDINGS = {"python": ["py"], "typescript": ["ts", "mjs"]}
FOLDERS = {"python": "tests/programs", "typescript": "tests/programs-typescript"}


def bfcl_programs(world):
    """The ground truths of BFCL, one program a turn, each different one once."""
    programs = {}
    for task, turns in bfcl.tasks():
        world.begin(task)
        owners = world.class_of_method()
        for calls in filter(None, turns):
            if bfcl.contradiction(world, calls, owners) is None:
                programs[bfcl.program(calls, owners, is_first=True)] = None
    return list(programs)


def dojo_program(suite, task):
    """The ground truth of a task of AgentDojo."""
    environment = task.init_environment(suite.load_and_inject_default_environment({}))
    return dojo.program(suite.name, task.ground_truth(environment), task.GROUND_TRUTH_OUTPUT)


def sources(folder, pattern, language):
    """The programs of a language in a folder."""
    return sorted(path for ending in ENDINGS[language] for path in folder.glob(f"{pattern}.{ending}"))


def fixture_programs(language):
    """The programs of this repository over its fixture server."""
    paths = sources(ROOT / FOLDERS[language], "*", language)
    return [code for code in map(Path.read_text, paths) if "mcp__" in code]


def corpus_programs(language):
    """The programs of the corpus that worked at the first try."""
    failed = json.loads((CORPUS.parent / "first_try.json").read_text())
    paths = sources(CORPUS, "*/*", language)
    return [path.read_text() for path in paths if str(path.relative_to(CORPUS)) not in failed]


def definitions(gateway):
    """The definitions of all tools by callable name."""
    names = json.loads(gateway.call("list_callable_tools")[0])
    return {name: json.loads(gateway.call("inspect_tool", tool_name=name)[0]) for name in names}


def try_programs(gateway, source, programs, language="python"):
    """Breaks the programs of a source: what the check says, counted by class."""
    tools = definitions(gateway)
    counts = defaultdict(lambda: {"broken": 0, "found": 0, "missed": []})
    alarms = []
    for code in programs:
        refusal = gateway.refusal(code, language=language)
        if refusal is not None:
            alarms.append({"program": code, "refusal": refusal})
            continue
        for mistake, broken in MUTATORS[language](code, tools).mutants():
            count = counts[mistake]
            count["broken"] += 1
            if gateway.refusal(broken, language=language) is not None:
                count["found"] += 1
            elif len(count["missed"]) < SHOWN:
                count["missed"].append(changed_line(code, broken))
    where = {"source": source, "language": language}
    for mistake, count in counts.items():
        print(json.dumps({**where, "mistake": mistake, **count}))
    print(json.dumps({**where, "programs": len(programs), "alarms": alarms}), flush=True)


def changed_line(code, broken):
    """The first line in which a broken program differs."""
    for before, after in zip(code.splitlines(), broken.splitlines()):
        if before != after:
            return after.strip()
    return ""


def main():
    limit = int(sys.argv[1]) if len(sys.argv) > 1 else None
    choose = random.Random(29)

    def some(programs):
        return programs if limit is None else choose.sample(programs, min(limit, len(programs)))

    fixture = {"fixture": {"command": os.environ["FIXTURE_SERVER"]}}
    with Gateway({"mcpServers": fixture}) as gateway:
        for language in MUTATORS:
            try_programs(gateway, "this repository", some(fixture_programs(language)), language)
    world = bfcl.World()
    with Gateway({"mcpServers": world.servers.configuration()}) as gateway:
        try_programs(gateway, "BFCL", some(bfcl_programs(world)))
    suites = get_suites(dojo.VERSION)
    world = dojo.World(suites)
    with Gateway({"mcpServers": world.servers.configuration()}) as gateway:
        tasks = [(suite, task) for suite in suites.values() for task in suite.user_tasks.values()]
        programs = [dojo_program(suite, task) for suite, task in some(tasks)]
        try_programs(gateway, "AgentDojo", programs)
    with tempfile.TemporaryDirectory() as folder:
        servers = worlds.World(folder).configuration(SERVICES)
        with Gateway({"mcpServers": servers}) as gateway:
            for language in MUTATORS:
                try_programs(gateway, "the corpus", some(corpus_programs(language)), language)


if __name__ == "__main__":
    main()
