"""AgentDojo's user tasks through onecall: the ground truth of each task is one program.

The tools of a suite are an MCP server of this process, over an environment that is new for each
task. AgentDojo's own utility check then judges the environment, the calls that arrived and what the
program printed. Prints one JSON object for each task, which also says whether the check passes if
nothing is called and nothing printed.
"""

import json
import sys
import warnings

import model_clients

model_clients.replace()

from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.functions_runtime import FunctionCall, FunctionsRuntime
from agentdojo.task_suite.load_suites import get_suites
from agentdojo.types import text_content_block_from_string
from pydantic import BaseModel

from gateway import Gateway
from tool_server import Tool, ToolServers, failure, success, text

VERSION = "v1.2.2"


def plain(value):
    """A result of AgentDojo as JSON data."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value


class World:
    """The tools of every suite as MCP servers, over the environment of the current task."""

    def __init__(self, suites):
        self.environment = None
        self.calls = []
        self.servers = ToolServers(
            {name: [self._tool(suite, it) for it in suite.tools] for name, suite in suites.items()}
        )

    def begin(self, environment):
        """Takes the environment of a task."""
        self.environment = environment
        self.calls = []

    def _tool(self, suite, function):
        runtime = FunctionsRuntime(suite.tools)

        def call(arguments):
            self.calls.append(FunctionCall(function=function.name, args=arguments))
            value, error = runtime.run_function(self.environment, function.name, arguments)
            if error is not None:
                return failure(error)
            try:
                return success(plain(value))
            except TypeError:
                return text(tool_result_to_str(value))

        schema = function.parameters.model_json_schema()
        return Tool(function.name, function.description, schema, call)


def expression(suite, value):
    """An argument of a ground truth as Python. A nested call is awaited in its place."""
    if isinstance(value, FunctionCall):
        arguments = ", ".join(f"{k}={expression(suite, v)}" for k, v in value.args.items())
        return f"await mcp__{suite}__{value.function}({arguments})"
    return repr(value)


def program(suite, calls, output):
    """The ground truth of a task as a program that prints the task's answer."""
    lines = [expression(suite, call) for call in calls]
    return "\n".join([*lines, f"print({output!r})"])


def run(gateway, world, suite, task):
    """Runs the program of a task: its report."""
    environment = task.init_environment(suite.load_and_inject_default_environment({}))
    before = environment.model_copy(deep=True)
    world.begin(environment)
    calls = task.ground_truth(before.model_copy(deep=True))
    source = program(suite.name, calls, task.GROUND_TRUTH_OUTPUT)
    printed, failed = gateway.execute(source)
    output = [text_content_block_from_string(printed.removesuffix("\n"))]
    useful = failed is None and suite._check_task_result(
        task, output, before, world.environment, world.calls
    )
    report = {"task": f"{suite.name} {task.ID}", "calls": len(world.calls), "useful": bool(useful)}
    return {**report, "failure": failed, "passes_idle": passes_idle(suite, task, before)}


def passes_idle(suite, task, environment):
    """Whether the check of a task passes without any call."""
    nothing = [text_content_block_from_string("")]
    try:
        after = environment.model_copy(deep=True)
        return bool(suite._check_task_result(task, nothing, environment, after, []))
    except Exception:
        # A check may expect that something was called.
        return False


def main():
    warnings.simplefilter("ignore")
    every = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    suites = get_suites(VERSION)
    world = World(suites)
    with Gateway({"mcpServers": world.servers.configuration()}) as gateway:
        for suite in suites.values():
            for task in list(suite.user_tasks.values())[::every]:
                print(json.dumps(run(gateway, world, suite, task)), flush=True)


if __name__ == "__main__":
    main()
