"""BFCL's multi-turn tasks through onecall: the ground truth of each turn is one program.

The API classes of the package are MCP servers of this process. After each turn, BFCL's own checkers
compare their state, and what the program got from each call, with what BFCL gets when it executes
the same ground truth itself. Prints one JSON object for each task.
"""

import ast
import copy
import importlib
import inspect
import json
import sys
from pathlib import Path

import bfcl_eval
from bfcl_eval.constants.executable_backend_config import (
    CLASS_FILE_PATH_MAPPING,
    MULTI_TURN_FUNC_DOC_FILE_MAPPING,
    STATELESS_CLASSES,
)
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import (
    response_checker,
    state_checker,
)
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call

from gateway import Gateway
from tool_server import Tool, ToolServers, success, text

DATA = Path(bfcl_eval.__file__).parent / "data"
CATEGORIES = ["base", "miss_func", "miss_param", "long_context"]
CLASSES = [
    "GorillaFileSystem",
    "MathAPI",
    "MessageAPI",
    "TwitterAPI",
    "TicketAPI",
    "TradingBot",
    "TravelAPI",
    "VehicleControlAPI",
]

# The names that BFCL's schemas use for types of JSON Schema.
TYPES = {"dict": "object", "float": "number", "tuple": "array"}


def lines(path):
    """The JSON objects of a file, one on each line."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def json_schema(schema):
    """A schema of BFCL as JSON Schema."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {key: json_schema(value) for key, value in schema.items()}
    kind = converted.get("type")
    if isinstance(kind, str):
        if kind == "any":
            del converted["type"]
        else:
            converted["type"] = TYPES.get(kind, kind)
    return converted


class World:
    """The instances of the API classes for the current task, served as MCP servers."""

    def __init__(self):
        self.instances = {}
        self.schemas = {}
        self.servers = ToolServers({name: self._tools(name) for name in CLASSES})

    def begin(self, task):
        """Creates the instances of a task in their initial state."""
        self.instances = {}
        for name in task["involved_classes"]:
            module = importlib.import_module(CLASS_FILE_PATH_MAPPING[name])
            instance = getattr(module, name)()
            if name not in STATELESS_CLASSES:
                scenario = copy.deepcopy(task["initial_config"].get(name, {}))
                instance._load_scenario(scenario, long_context="long_context" in task["id"])
            self.instances[name] = instance

    def class_of_method(self):
        """The class that BFCL means by each method name."""
        owners = {}
        for name, instance in self.instances.items():
            for method, _ in inspect.getmembers(instance, predicate=inspect.ismethod):
                if not method.startswith("_"):
                    owners[method] = name
        return owners

    def _tools(self, class_name):
        documents = lines(DATA / "multi_turn_func_doc" / MULTI_TURN_FUNC_DOC_FILE_MAPPING[class_name])
        return [self._tool(class_name, document) for document in documents]

    def _tool(self, class_name, document):
        name = document["name"]

        def call(arguments):
            value = getattr(self.instances[class_name], name)(**arguments)
            try:
                json.dumps(value)
            except TypeError:
                # BFCL shows a model such a value as text, too.
                return text(str(value))
            return success(value)

        schema = self.schemas[class_name, name] = json_schema(document["parameters"])
        return Tool(name, document["description"], schema, call)


def program(calls, owners, is_first):
    """The program of a turn. Only the first program of a task imports what all of them use."""
    body = ["import json"] if is_first else []
    for call in calls:
        method = call.split("(", 1)[0].strip()
        body.append(f"print(json.dumps(await mcp__{owners[method]}__{call.strip()}))")
    return "\n".join(body)


def response(line):
    """What BFCL shows a model for the value that the program printed as JSON."""
    value = json.loads(line)
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, dict) else str(value)


PYTHON_TYPES = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": (list, tuple),
    "object": dict,
}


def contradiction(world, calls, owners, refusal=None):
    """The argument of a ground truth that BFCL's own schema does not allow, if there is one. With the
    text of a refusal, only an argument that it names counts."""
    for call in calls:
        parsed = ast.parse(call.strip(), mode="eval").body
        schema = world.schemas[owners[parsed.func.id], parsed.func.id]["properties"]
        for keyword in parsed.keywords:
            value = ast.literal_eval(keyword.value)
            kind = schema.get(keyword.arg, {}).get("type")
            is_contrary = kind in PYTHON_TYPES and not isinstance(value, PYTHON_TYPES[kind])
            if is_contrary and (refusal is None or f" {keyword.arg}: " in refusal):
                return f"{call}: BFCL's schema of `{keyword.arg}` says {kind}"
    return None


class Reference:
    """The ground truth of a task, executed by BFCL itself."""

    def __init__(self, task):
        self._task = task
        self.instances = {}

    def execute(self, calls):
        """Executes the calls of a turn: what BFCL shows a model for each."""
        task = self._task
        responses, self.instances = execute_multi_turn_func_call(
            calls,
            task["initial_config"],
            task["involved_classes"],
            "reference",
            task["id"],
            long_context="long_context" in task["id"],
        )
        return responses


def shortened(checked):
    """What one of BFCL's checkers found, without whole worlds; None if it found nothing."""
    if checked["valid"]:
        return None
    details = {key: str(value)[:300] for key, value in checked.get("details", {}).items()}
    return {"kind": checked["error_type"], "details": details}


def run(gateway, world, task, turns):
    """Runs the programs of a task, also after one has failed: its report."""
    world.begin(task)
    owners, reference = world.class_of_method(), Reference(task)
    report = {"task": task["id"], "calls": 0, "programs": 0, "differences": []}
    responses = []
    for turn, calls in enumerate(turns):
        if not calls:
            continue
        is_first = report["programs"] == 0
        source = program(calls, owners, is_first)
        printed, failed = gateway.execute(source, session="task", reset=is_first)
        expected = reference.execute(calls)
        report["programs"] += 1
        report["calls"] += len(calls)
        if failed:
            difference = {
                "kind": "program failed",
                "details": failed,
                "explained": contradiction(world, calls, owners, failed),
            }
        else:
            responses.extend(response(line) for line in printed.splitlines())
            difference = shortened(state_checker(world.instances, reference.instances))
            difference = difference or shortened(response_checker(responses, expected, turn))
        if difference:
            report["differences"].append({"turn": turn, **difference})
    report["same_state"] = state_checker(world.instances, reference.instances)["valid"]
    return report


def tasks(every=1):
    """The tasks with their ground truths; every N-th of each category."""
    for category in CATEGORIES:
        name = f"BFCL_v4_multi_turn_{category}.json"
        answers = {it["id"]: it["ground_truth"] for it in lines(DATA / "possible_answer" / name)}
        for task in lines(DATA / name)[::every]:
            yield task, answers[task["id"]]


def main():
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    world = World()
    configuration = {
        "mcpServers": world.servers.configuration(),
        # Some tasks of the category long_context read more than the usual limit.
        "execution": {"max_output_bytes": 1 << 24},
    }
    with Gateway(configuration) as gateway:
        for task, turns in tasks(every):
            print(json.dumps(run(gateway, world, task, turns)), flush=True)


if __name__ == "__main__":
    main()
