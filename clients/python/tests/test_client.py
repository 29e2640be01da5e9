"""The asyncio client, against the real binary."""

import asyncio
import contextvars
import unittest
from dataclasses import dataclass

import support  # noqa: F401  (finds the package)
from onecall_client import Client, OnecallError, ProgramFailed, Tool


async def greet(name: str, times: int = 1) -> str:
    """Says hello."""
    return f"Hi {name}! " * times


def add(a: int, b: int) -> int:
    return a + b


class Programs(unittest.IsolatedAsyncioTestCase):
    async def test_functions_are_tools(self):
        code = "print(await greet('Ada', times=2), tools.add(1, 2))\nawait add(a=2**80, b=1)"
        async with Client(tools=[greet, add]) as client:
            outcome = await client.run(code)
            self.assertEqual((outcome.success, outcome.error), (True, None))
            self.assertEqual(outcome.stdout, "Hi Ada! Hi Ada!  3\n")
            self.assertEqual(outcome.return_value, 2**80 + 1)
            names = [call.tool_name for call in outcome.tool_calls]
            self.assertEqual(names, ["greet", "add", "add"])
            refused = await client.run("print(1)\ntools.greet(nam='Ada')")
            self.assertEqual((refused.stdout, refused.error.type), ("", "TypeError"))
            wrong = await client.run("n = 5\nawait greet(name=n)")
            self.assertIn("name: 5 is of type integer, not string", wrong.error.message)
            with self.assertRaisesRegex(ProgramFailed, "ToolError"):
                wrong.raise_for_error()

    async def test_tools_of_every_form(self):
        @dataclass
        class Point:
            x: int

        definition = {"name": "defined", "inputSchema": {"properties": {"n": {"type": "integer"}}}}
        tools = [Tool("point", lambda: Point(7), "A point"), definition]
        routed = []

        def router(name, arguments):
            routed.append((name, arguments))
            return "routed"

        async with Client(tools=tools, router=router) as client:
            outcome = await client.run("[await point(), tools.defined(3)]")
            self.assertEqual(outcome.return_value, [{"x": 7}, "routed"])
            self.assertEqual(routed, [("defined", {"n": 3})])
        with self.assertRaisesRegex(ValueError, "nothing executes 'defined'"):
            Client(tools=[definition])
        with self.assertRaisesRegex(ValueError, "two tools are named 'add'"):
            Client(tools=[add, add])

    async def test_values_are_as_annotated(self):
        def rows() -> list:
            return "[1, 2]"

        def text() -> str:
            return "[1, 2]"

        def plain():
            return "[1, 2]"

        async with Client(tools=[rows, text, plain]) as client:
            outcome = await client.run("[tools.rows(), await tools.async_text(), await plain()]")
            self.assertEqual(outcome.return_value, [[1, 2], "[1, 2]", "[1, 2]"])
            signature = await client.run("tools.search('rows')[0]['signature']")
            self.assertEqual(signature.return_value, "await rows() -> list")

    async def test_environments_are_routed_by_prefix(self):
        async def deep(name, arguments):
            return ["deep", name]

        environments = {"math__": [add], "web__": lambda name, arguments: [name, arguments],
                        "web__deep__": deep}
        async with Client(environments=environments) as client:
            code = "[tools.math__add(a=1, b=2), tools.web__open(u=1), tools.web__deep__x()]"
            outcome = await client.run(code)
            self.assertEqual(outcome.return_value, [3, ["open", {"u": 1}], ["deep", "x"]])
            lost = await client.run("tools.other()")
            self.assertIn("there is no tool 'other'; there are: math__add", lost.error.message)
            self.assertEqual(lost.tool_calls[0].parsed, False)
        async with Client(environments={"math__": [add]}) as client:
            self.assertEqual((await client.run("await math__add(1, 2)")).return_value, 3)

    async def test_tools_that_fail(self):
        async def broken():
            raise ValueError("no luck")

        def leaving():
            raise SystemExit(1)

        async def cancelled():
            raise asyncio.CancelledError

        async with Client(tools=[broken, leaving, cancelled]) as client:
            for name, message in [
                ("broken", "ValueError: no luck"),
                ("leaving", "RuntimeError: SystemExit: 1"),
                ("cancelled", "CancelledError"),
            ]:
                outcome = await client.run(f"tools.{name}()", timeout=20)
                self.assertEqual(outcome.error.message, f"'{name}' failed: {message}")

    async def test_a_tool_that_hangs_is_cancelled(self):
        gone = asyncio.Event()

        async def hang():
            try:
                await asyncio.Event().wait()
            finally:
                gone.set()

        async with Client(tools=[hang]) as client:
            outcome = await client.run("tools.hang()", timeout=0.5)
            self.assertEqual(outcome.error.type, "TimeoutError")
            await asyncio.wait_for(gone.wait(), 30)

    async def test_programs_at_once_with_answers_out_of_order(self):
        waiting = {}

        async def meet(who: str):
            """Answers the first who comes last."""
            if waiting:
                waiting.popitem()[1].set_result(who)
                return "last"
            waiting[who] = asyncio.get_running_loop().create_future()
            return await waiting[who]

        async with Client(tools=[meet]) as client:
            code = "print(tools.meet(who={!r}))"
            outcomes = await asyncio.gather(*(client.run(code.format(who)) for who in "ab"))
            said = sorted(outcome.stdout for outcome in outcomes)
            self.assertIn(said, [["a\n", "last\n"], ["b\n", "last\n"]])

    async def test_cancelling_kills_the_program(self):
        begun, gone = asyncio.Event(), asyncio.Event()

        async def hang():
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                gone.set()

        async with Client(tools=[hang]) as client:
            run = asyncio.ensure_future(client.run("tools.hang()"))
            await asyncio.wait_for(begun.wait(), 30)
            run.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await run
            await asyncio.wait_for(gone.wait(), 30)
            self.assertTrue((await client.run("1")).success)

    async def test_sessions_files_and_refusals(self):
        async with Client() as client:
            await client.run("x = 20", session="s")
            self.assertEqual((await client.run("x + 1", session="s")).return_value, 21)
            anew = await client.run("x", session="s", reset=True)
            self.assertEqual(anew.error.type, "NameError")
            with self.assertRaisesRegex(OnecallError, "'engine' must be one of"):
                await client.run("1", engine="perl")

    async def test_tools_see_the_context_of_their_run(self):
        user = contextvars.ContextVar("user")

        def who():
            return user.get()

        async with Client(tools=[who]) as client:
            user.set("ada")
            self.assertEqual((await client.run("tools.who()")).return_value, "ada")


if __name__ == "__main__":
    unittest.main()
