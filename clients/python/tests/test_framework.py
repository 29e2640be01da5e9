"""Tools and environments of an agent framework."""

import asyncio
import json
import unittest
from typing import List

import support  # noqa: F401  (finds the package)
from onecall_client import (
    MCPTool,
    ProgrammaticToolCallingTool,
    ToolEnvWrapper,
    create_programmatic_tool_calling_tool_stdio,
)

STOCK = {"bolt": 40, "nut": 3, "washer": 0}


def parts() -> List[str]:
    """The parts in stock."""
    return sorted(STOCK)


async def amount(part: str) -> int:
    await asyncio.sleep(0)
    return STOCK[part]


def label(part: str) -> str:
    return f"{len(part)}"


class Shop:
    """An environment as a framework has it."""

    opened = 1

    def reset(self):
        return "open"


class Warehouse(ToolEnvWrapper):
    """Its programs call the tools beside it, whatever these are when they are called."""

    def __init__(self, base):
        def route(tool_name, tool_args, tool_call_id):
            return self.execute_tool(tool_name, tool_args, tool_call_id)

        self.programs = create_programmatic_tool_calling_tool_stdio(tool_executor=route)
        super().__init__(base, tools=[self.programs, MCPTool([parts, amount, label])])


class Tools(unittest.TestCase):
    def setUp(self):
        self.tool = MCPTool([parts, amount, label])

    def test_a_call_gives_a_text(self):
        cases = [
            ("parts", {}, (True, False, '["bolt", "nut", "washer"]')),
            ("amount", {"part": "nut"}, (True, False, "3")),
            ("amount", '{"part": "nut"}', (True, False, "3")),
            ("label", {"part": "nut"}, (True, False, "3")),
            ("parts", None, (True, False, '["bolt", "nut", "washer"]')),
            ("amount", {"part": "gear"}, (True, True, "KeyError: 'gear'")),
            ("amount", {}, (True, True, "amount: missing a required argument: 'part'")),
            ("amount", [1], (True, True, "amount: the arguments must be a dict")),
            (
                "price",
                {},
                (False, True, "Tool not found: price; there are: parts, amount, label"),
            ),
        ]
        for name, args, expected in cases:
            with self.subTest((name, args)):
                answer = self.tool.execute_tool(name, args, "c1")
                self.assertEqual(answer, (*expected, name, "c1"))

    def test_within_an_event_loop(self):
        async def main():
            return self.tool.execute_tool("amount", {"part": "bolt"}, "c1")

        self.assertEqual(asyncio.run(main())[2], "40")

    def test_definitions_have_the_types(self):
        first = self.tool.definitions()[0]
        self.assertEqual(
            first,
            {
                "name": "parts",
                "description": "The parts in stock.",
                "inputSchema": {
                    "type": "object",
                    "properties": {},
                    "required": [],
                    "additionalProperties": False,
                },
                "outputSchema": {"type": "array", "items": {"type": "string"}},
            },
        )

    def test_the_tool_for_programs_is_one(self):
        self.assertTrue(issubclass(ProgrammaticToolCallingTool, MCPTool))


class Environments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.environment = Warehouse(Shop())

    @classmethod
    def tearDownClass(cls):
        cls.environment.programs.close()

    def run_program(self, code, **more):
        args = {"code": code, **more}
        answer = self.environment.execute_tool("programmatic_tool_calling", args, "run")
        self.assertEqual((answer[0], answer[3:]), (True, ("programmatic_tool_calling", "run")))
        return json.loads(answer[2])

    def test_programs_call_the_tools_beside_them(self):
        code = """
            stock = {part: tools.amount(part=part) for part in tools.parts()}
            result = [part for part, amount in stock.items() if amount < 10]
        """
        code = "\n".join(line.strip() for line in code.splitlines())
        self.assertEqual(self.run_program(code)["return_value"], ["nut", "washer"])

    def test_a_declared_string_stays_one(self):
        code = "print(repr(tools.label(part='bolt')), repr(tools.amount(part='nut')))"
        self.assertEqual(self.run_program(code)["stdout"], "4 3\n")
        declared = self.run_program(code, _tools_available=self.environment.definitions())
        self.assertEqual(declared["stdout"], "'4' 3\n")

    def test_a_name_that_nobody_registered_is_refused(self):
        there = "programmatic_tool_calling, parts, amount, label"
        said = f"Tool not found: price; there are: {there}"
        # Not even one that looks like a program.
        args = {"code": "print('no')"}
        answer = self.environment.execute_tool("price", args, "c1")
        self.assertEqual(answer, (False, True, said, "price", "c1"))
        outcome = self.run_program("tools.price(code='print(1)')")
        self.assertEqual(outcome["error"]["message"], f"'price' failed: {said}")
        self.assertEqual([call["parsed"] for call in outcome["tool_calls"]], [False])

    def test_a_program_within_a_program(self):
        code = "tools.programmatic_tool_calling(code='tools.amount(part=\"bolt\")')['return_value']"
        self.assertEqual(self.run_program(code)["return_value"], 40)

    def test_what_it_wraps_is_still_there(self):
        self.assertEqual((self.environment.reset(), self.environment.opened), ("open", 1))
        with self.assertRaises(AttributeError):
            self.environment.closed


if __name__ == "__main__":
    unittest.main()
