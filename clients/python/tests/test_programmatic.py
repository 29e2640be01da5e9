"""The tool for agent frameworks, against the real binary."""

import asyncio
import os
import signal
import tempfile
import threading
import unittest

import support  # noqa: F401  (finds the package)
from onecall_client import OnecallError, create_programmatic_tool_calling_tool_stdio


def executor(name, args, call_id):
    """Two environments, told apart by their prefix."""
    environments = {
        "math__": {"add": lambda a, b: a + b, "power": lambda a, b: a**b},
        "text__": {"upper": lambda text: text.upper()},
    }
    for prefix, tools in environments.items():
        tool = tools.get(name[len(prefix) :]) if name.startswith(prefix) else None
        if tool is not None:
            return True, None, tool(**args), name, call_id
    return False, f"no environment has a tool {name!r}", None, name, call_id


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tool = create_programmatic_tool_calling_tool_stdio(tool_executor=executor)

    @classmethod
    def tearDownClass(cls):
        cls.tool.close()

    def run_program(self, code, **more):
        answer = self.tool.execute_tool("ptc", {"code": code, **more}, "id-1")
        parsed, error, observation, name, call_id = answer
        self.assertEqual((name, call_id), ("ptc", "id-1"))
        return parsed, error, observation

    def caught(self, call, run_executor):
        """What a program that makes this call catches."""
        code = f"try:\n    {call}\nexcept ToolError as error:\n    print(error)"
        self.tool.set_tool_executor(run_executor)
        try:
            return self.run_program(code, timeout=20)[2]
        finally:
            self.tool.set_tool_executor(executor)

    def test_several_environments_are_routed(self):
        code = "x = tools.math__add(a=1, b=2)\nprint(tools.text__upper(text=f'x{x}'))\nx"
        parsed, error, outcome = self.run_program(code)
        self.assertEqual((parsed, error), (True, None))
        self.assertEqual((outcome["stdout"], outcome["return_value"]), ("X3\n", 3))
        names = [call["tool_name"] for call in outcome["tool_calls"]]
        self.assertEqual(names, ["math__add", "text__upper"])
        ids = [call["tool_call_id"] for call in outcome["tool_calls"]]
        self.assertEqual(ids, [result["tool_call_id"] for result in outcome["tool_results"]])

    def test_numbers_of_any_size(self):
        _, _, outcome = self.run_program("tools.math__power(a=2, b=400) + 1")
        self.assertEqual(outcome["return_value"], 2**400 + 1)
        _, _, outcome = self.run_program("10 ** 5000 + 7")
        self.assertTrue(outcome["return_value"] in (None, 10**5000 + 7))

    def test_a_tool_that_is_not_found(self):
        parsed, error, outcome = self.run_program("tools.math__divide(a=1, b=2)")
        self.assertTrue(parsed)
        self.assertEqual(
            error, "ToolError: 'math__divide' failed: no environment has a tool 'math__divide'"
        )
        self.assertEqual(outcome["tool_calls"][0]["parsed"], False)

    def test_an_executor_that_raises(self):
        def broken(name, args, call_id):
            raise KeyError("no such key")

        self.assertEqual(
            self.caught("tools.f()", broken)["stdout"], "'f' failed: KeyError: 'no such key'\n"
        )

        def leaving(name, args, call_id):
            raise SystemExit(3)

        self.assertEqual(self.caught("tools.f()", leaving)["stdout"], "'f' failed: SystemExit: 3\n")

    def test_an_executor_that_fails(self):
        cases = [
            ((True, "out of order", None), "out of order"),
            ((True, True, "as text"), "as text"),
            ((True, True, {"code": 7}), "{'code': 7}"),
            ((True, True, None), "the tool failed"),
            ((False, None, "not mine"), "not mine"),
        ]
        for answer, message in cases:
            with self.subTest(answer):
                outcome = self.caught("tools.f()", lambda n, a, i: (*answer, n, i))
                self.assertEqual(outcome["stdout"], f"'f' failed: {message}\n")
                self.assertEqual(outcome["tool_calls"][0]["parsed"], answer[0])

    def test_an_executor_with_a_wrong_shape(self):
        cases = [
            (lambda n, a, i: 5, "the tool executor returned 5 instead of (tool_parsed,"),
            (lambda n, a, i: (True, None), "the tool executor returned (True, None) instead of"),
            (lambda n, a, i: ("yes", None, 1, n, i), "tool_parsed is 'yes', not a bool"),
            (lambda n, a, i: (True, 5, 1, n, i), "tool_execute_error is 5, not a bool, a message"),
            (lambda n, a, i: (True, None, 1, n, "x"), "the tool executor answered 'x', not 'call_"),
            (lambda n, a, i: (True, None, {1}, n, i), "a value of type set is not JSON"),
            (lambda n, a, i: (True, None, float("nan"), n, i), "the tool's value cannot be passed"),
            (None, "there is no tool executor; call set_tool_executor first"),
        ]
        for wrong, message in cases:
            with self.subTest(message):
                self.assertIn(message, self.caught("tools.f()", wrong)["stdout"])

    def test_an_async_executor(self):
        async def slow(name, args, call_id):
            await asyncio.sleep(0)
            return True, None, "awaited", name, call_id

        outcome = self.caught("print(tools.f())", slow)
        self.assertEqual(outcome["stdout"], "awaited\n")

    def test_an_executor_that_hangs(self):
        never = threading.Event()
        self.addCleanup(never.set)

        def hanging(name, args, call_id):
            never.wait()
            return True, None, None, name, call_id

        self.tool.set_tool_executor(hanging)
        self.addCleanup(self.tool.set_tool_executor, executor)
        _, error, outcome = self.run_program("tools.f()", timeout=0.5)
        self.assertEqual(error, "TimeoutError: Execution exceeded 0.5s limit")
        self.assertEqual(outcome["tool_calls"][0]["duration_seconds"], None)

    def test_answers_out_of_order(self):
        second = threading.Event()
        self.addCleanup(second.set)

        def turned_around(name, args, call_id):
            if args["n"] == 1:
                second.wait()
            else:
                second.set()
            return True, None, args["n"], name, call_id

        self.tool.set_tool_executor(turned_around)
        self.addCleanup(self.tool.set_tool_executor, executor)
        code = "import asyncio\nprint(await asyncio.gather(tools.aio.f(n=1), tools.aio.f(n=2)))"
        _, _, outcome = self.run_program(code)
        self.assertEqual(outcome["stdout"], "[1, 2]\n")

    def test_many_threads(self):
        results = {}

        def work(n):
            answer = self.tool.execute_tool(
                "ptc", {"code": f"sum(tools.math__add(a={n}, b=k) for k in range(5))"}, str(n)
            )
            results[n] = answer[2]["return_value"]

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, {n: 5 * n + 10 for n in range(8)})

    def test_arguments_that_make_no_program(self):
        cases = [
            ({}, "'code' must be a string"),
            ({"code": 5}, "'code' must be a string"),
            ({"code": "1", "cwd": "/"}, "unknown arguments: cwd"),
            ("{", "the arguments are not JSON"),
            ([], "the arguments must be a dict with 'code'"),
        ]
        for args, message in cases:
            with self.subTest(args):
                parsed, error, outcome, _, _ = self.tool.execute_tool("ptc", args, "1")
                self.assertEqual((parsed, outcome["success"]), (False, False))
                self.assertIn(message, error)
        self.assertEqual(self.tool.execute_tool("ptc", '{"code": "1+1"}', "1")[2]["return_value"], 2)
        _, error, _ = self.run_program("1", timeout=-1)
        self.assertIn("'timeout' must be a number of seconds above 0", error)
        _, error, _ = self.run_program("1", timeout=float("nan"))
        self.assertIn("the program cannot be sent", error)


class Lives(unittest.TestCase):
    def test_files_of_a_workspace(self):
        with tempfile.TemporaryDirectory() as folder:
            workspace = os.path.join(folder, "made")
            with create_programmatic_tool_calling_tool_stdio(workspace) as tool:
                answer = tool.execute_tool("ptc", {"code": "1 + 1", "filename": "sum.py"}, "1")
                self.assertEqual(answer[2]["file_path"], os.path.join(workspace, "sum.py"))
                with open(os.path.join(workspace, "sum.py")) as kept:
                    self.assertEqual(kept.read(), "1 + 1")

    def test_the_binary_is_killed_in_the_middle(self):
        begun, never = threading.Event(), threading.Event()
        self.addCleanup(never.set)

        def hanging(name, args, call_id):
            if name == "g":
                begun.set()
                never.wait()
            return True, None, None, name, call_id

        with create_programmatic_tool_calling_tool_stdio(tool_executor=hanging) as tool:
            answers = []
            code = {"code": "tools.f()\ntools.g()"}
            thread = threading.Thread(
                target=lambda: answers.append(tool.execute_tool("ptc", code, "1"))
            )
            thread.start()
            self.assertTrue(begun.wait(60))
            os.kill(tool._supervised.process().pid, signal.SIGKILL)
            thread.join(60)
            parsed, error, outcome, _, _ = answers[0]
            self.assertEqual((parsed, outcome["error"]["type"]), (True, "ProcessLost"))
            self.assertEqual(
                error,
                "onecall ended by signal 9; the program was lost, and 2 tool calls had been "
                "made by then",
            )
            again = tool.execute_tool("ptc", {"code": "print('again')"}, "2")
            self.assertEqual(again[2]["stdout"], "again\n")

    def test_a_closed_tool(self):
        tool = create_programmatic_tool_calling_tool_stdio()
        tool.close()
        tool.close()
        self.assertEqual(tool.execute_tool("ptc", {"code": "1"}, "1")[1], "this client is closed")

    def test_validation(self):
        create_programmatic_tool_calling_tool_stdio(validate_on_init=True).close()
        with tempfile.NamedTemporaryFile() as no_folder:
            with self.assertRaises((OnecallError, OSError)):
                create_programmatic_tool_calling_tool_stdio(no_folder.name, validate_on_init=True)
        with self.assertRaisesRegex(OnecallError, "onecall ended with exit code"):
            create_programmatic_tool_calling_tool_stdio(validate_on_init=True, binary="false")


if __name__ == "__main__":
    unittest.main()
