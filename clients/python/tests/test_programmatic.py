"""The tool for agent frameworks, against the real binary."""

import asyncio
import json
import os
import signal
import tempfile
import threading
import unittest

import support  # noqa: F401  (finds the package)
from onecall_client import OnecallError, create_programmatic_tool_calling_tool_stdio


NAME = "programmatic_tool_calling"


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
        """The outcome of a program."""
        answer = self.tool.execute_tool(NAME, {"code": code, **more}, "id-1")
        parsed, error, observation, name, call_id = answer
        self.assertEqual((parsed, name, call_id), (True, NAME, "id-1"))
        outcome = json.loads(observation)
        self.assertEqual(error, not outcome["success"])
        return outcome

    def caught(self, call, run_executor):
        """What a program that makes this call catches."""
        code = f"try:\n    {call}\nexcept ToolError as error:\n    print(error)"
        self.tool.set_tool_executor(run_executor)
        try:
            return self.run_program(code, timeout=20)
        finally:
            self.tool.set_tool_executor(executor)

    def test_several_environments_are_routed(self):
        code = "x = tools.math__add(a=1, b=2)\nprint(tools.text__upper(text=f'x{x}'))\nx"
        outcome = self.run_program(code)
        self.assertEqual((outcome["stdout"], outcome["return_value"]), ("X3\n", 3))
        names = [call["tool_name"] for call in outcome["tool_calls"]]
        self.assertEqual(names, ["math__add", "text__upper"])
        ids = [call["tool_call_id"] for call in outcome["tool_calls"]]
        self.assertEqual(ids, [result["tool_call_id"] for result in outcome["tool_results"]])

    def test_numbers_of_any_size(self):
        outcome = self.run_program("tools.math__power(a=2, b=400) + 1")
        self.assertEqual(outcome["return_value"], 2**400 + 1)
        # Python reads no integer of more than 4300 digits.
        outcome = self.run_program("10 ** 5000 + 7")
        self.assertIn(outcome["return_value"], (None, "(an integer of 16610 bits)"))

    def test_a_tool_that_is_not_found(self):
        outcome = self.run_program("tools.math__divide(a=1, b=2)")
        self.assertEqual(
            (outcome["error"]["type"], outcome["error"]["message"]),
            ("ToolError", "'math__divide' failed: no environment has a tool 'math__divide'"),
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
        outcome = self.run_program("tools.f()", timeout=0.5)
        self.assertEqual(outcome["error"]["message"], "Execution exceeded 0.5s limit")
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
        outcome = self.run_program(code)
        self.assertEqual(outcome["stdout"], "[1, 2]\n")

    def test_many_threads(self):
        results = {}

        def work(n):
            answer = self.tool.execute_tool(
                NAME, {"code": f"sum(tools.math__add(a={n}, b=k) for k in range(5))"}, str(n)
            )
            results[n] = json.loads(answer[2])["return_value"]

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
            ([], "the arguments must be a dict"),
            ({"code": "1", "_tools_available": "add"}, "'_tools_available' must be a list"),
            ({"code": "1", "_tools_available": [5]}, "'_tools_available' must be a list"),
            ({"code": "1", "_tools_available": [{}]}, "'_tools_available' must be a list"),
        ]
        for args, message in cases:
            with self.subTest(args):
                parsed, error, said, _, _ = self.tool.execute_tool(NAME, args, "1")
                self.assertEqual((parsed, error), (True, True))
                self.assertIn(message, said)
        answer = self.tool.execute_tool(NAME, '{"code": "1+1"}', "1")
        self.assertEqual(json.loads(answer[2])["return_value"], 2)
        outcome = self.run_program("1", timeout=-1)
        self.assertIn(
            "'timeout' must be a number of seconds above 0", outcome["error"]["message"]
        )
        outcome = self.run_program("1", timeout=float("nan"))
        self.assertIn("the program cannot be sent", outcome["error"]["message"])

    def test_no_other_name_is_taken_for_a_program(self):
        answer = self.tool.execute_tool("run_code", {"code": "print(1)"}, "7")
        said = "Tool not found: run_code; there are: programmatic_tool_calling"
        self.assertEqual(answer, (False, True, said, "run_code", "7"))


class Values(unittest.TestCase):
    """What programs get from executors that answer in texts."""

    OBSERVATIONS = {
        "names": '["north", "south"]',
        "count": "12",
        "note": "plain words",
        "quoted": '"in quotes"',
        "nothing": "",
        "native": [1, {"two": 2}],
    }

    @classmethod
    def setUpClass(cls):
        def executor(name, args, call_id):
            if name not in cls.OBSERVATIONS:
                return False, True, f"no {name} here", name, call_id
            return True, False, cls.OBSERVATIONS[name], name, call_id

        cls.tool = create_programmatic_tool_calling_tool_stdio(tool_executor=executor)

    @classmethod
    def tearDownClass(cls):
        cls.tool.close()

    def run_program(self, code, **more):
        answer = self.tool.execute_tool(NAME, {"code": code, **more}, "id-1")
        return json.loads(answer[2])

    def printed(self, code, **more):
        outcome = self.run_program(code, **more)
        self.assertIsNone(outcome["error"])
        return outcome["stdout"]

    def test_a_text_is_parsed_where_it_is_json(self):
        for name, observation in self.OBSERVATIONS.items():
            try:
                expected = json.loads(observation)
            except (TypeError, ValueError):
                expected = observation
            with self.subTest(name):
                self.assertEqual(self.printed(f"print(repr(tools.{name}()))"), f"{expected!r}\n")

    def test_results_are_told_as_texts(self):
        outcome = self.run_program("tools.names()\ntools.note()\ntools.native()")
        told = [result["observation"] for result in outcome["tool_results"]]
        self.assertEqual(told, ['["north", "south"]', "plain words", '[1, {"two": 2}]'])

    def test_declared_types_decide(self):
        text, rows = {"type": "string"}, {"type": "array"}
        available = [
            {"name": "names", "outputSchema": rows},
            {"name": "count", "outputSchema": text},
            {"type": "function", "function": {"name": "quoted", "parameters": {}}},
            "note",
        ]
        code = "print([tools.names(), tools.count(), tools.quoted(), tools.note()])"
        self.assertEqual(
            self.printed(code, timeout=30, _tools_available=available),
            "[['north', 'south'], '12', 'in quotes', 'plain words']\n",
        )

    def test_only_available_tools_can_be_called(self):
        outcome = self.run_program("tools.count()", _tools_available=["counter", "names"])
        self.assertEqual(
            (outcome["error"]["type"], outcome["tool_calls"]), ("AttributeError", [])
        )
        self.assertIn("there is no tool 'count'", outcome["error"]["message"])
        self.assertEqual(self.printed("print(tools.count())", _tools_available=None), "12\n")

    def test_the_variable_result_is_the_return_value(self):
        cases = [
            ("places = tools.names()\nresult = places[1].upper()", "SOUTH"),
            ("result = tools.names()\nprint(result)", ["north", "south"]),
            ("result = 1\n2", 2),
            ("if tools.count() > 5:\n    result = 'many'", "many"),
            ("for result in range(3):\n    pass", 2),
            ("kept, result = 1, 2", 2),
            ("def f():\n    result = 1\nf()", None),
            ("[result for result in range(3)] and None", None),
            ("result = object()", None),
            ("results = 5", None),
        ]
        for code, expected in cases:
            with self.subTest(code):
                outcome = self.run_program(code)
                self.assertEqual((outcome["return_value"], outcome["error"]), (expected, None))

    def test_coroutines_by_their_prefix(self):
        code = (
            "import asyncio\n"
            "calls = [tools.async_count(), tools.async_names(), tools.aio.note()]\n"
            "print(await asyncio.gather(*calls), await tools.async_count())"
        )
        said = "[12, ['north', 'south'], 'plain words'] 12\n"
        self.assertEqual(self.printed(code), said)
        available = ["count", "names", "note"]
        self.assertEqual(self.printed(code, _tools_available=available), said)


class Lives(unittest.TestCase):
    def test_files_of_a_workspace(self):
        with tempfile.TemporaryDirectory() as folder:
            workspace = os.path.join(folder, "made")
            with create_programmatic_tool_calling_tool_stdio(workspace) as tool:
                answer = tool.execute_tool(NAME, {"code": "1 + 1", "filename": "sum.py"}, "1")
                self.assertEqual(json.loads(answer[2])["file_path"], os.path.join(workspace, "sum.py"))
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
                target=lambda: answers.append(tool.execute_tool(NAME, code, "1"))
            )
            thread.start()
            self.assertTrue(begun.wait(60))
            os.kill(tool._supervised.process().pid, signal.SIGKILL)
            thread.join(60)
            parsed, error, observation, _, _ = answers[0]
            failure = json.loads(observation)["error"]
            self.assertEqual((parsed, error, failure["type"]), (True, True, "ProcessLost"))
            self.assertEqual(
                failure["message"],
                "onecall ended by signal 9; the program was lost, and 2 tool calls had been "
                "made by then",
            )
            again = tool.execute_tool(NAME, {"code": "print('again')"}, "2")
            self.assertEqual(json.loads(again[2])["stdout"], "again\n")

    def test_a_closed_tool(self):
        tool = create_programmatic_tool_calling_tool_stdio()
        tool.close()
        tool.close()
        _, error, observation, _, _ = tool.execute_tool(NAME, {"code": "1"}, "1")
        message = json.loads(observation)["error"]["message"]
        self.assertEqual((error, message), (True, "this client is closed"))

    def test_validation(self):
        create_programmatic_tool_calling_tool_stdio(validate_on_init=True).close()
        with tempfile.NamedTemporaryFile() as no_folder:
            with self.assertRaises((OnecallError, OSError)):
                create_programmatic_tool_calling_tool_stdio(no_folder.name, validate_on_init=True)
        with self.assertRaisesRegex(OnecallError, "onecall ended with exit code"):
            create_programmatic_tool_calling_tool_stdio(validate_on_init=True, binary="false")


if __name__ == "__main__":
    unittest.main()
