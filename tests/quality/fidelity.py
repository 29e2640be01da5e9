"""Runs tests of CPython's standard library on the embedded Python, and on CPython for comparison.

The tests are those of CPython 3.11, in the folder that QUALITY_TESTS names. Prints one JSON object
for each module: of the tests that CPython passes, how many pass on the embedded Python, fail and are
skipped there; and the errors of those that fail. A test that does not end in its time fails.
"""

import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from gateway import Gateway

# The modules that programs use, with the modules of their tests.
MODULES = {
    "json": [
        f"test_json.{name}"
        for name in (
            "test_decode test_default test_dump test_encode_basestring_ascii test_enum test_fail "
            "test_float test_indent test_pass1 test_pass2 test_pass3 test_recursion "
            "test_scanstring test_separators test_speedups test_unicode"
        ).split()
    ],
    "re": ["test_re"],
    "datetime": ["test_datetime"],
    "csv": ["test_csv"],
    "statistics": ["test_statistics"],
    "collections": ["test_collections", "test_deque", "test_defaultdict", "test_ordered_dict"],
    "itertools": ["test_itertools"],
    "functools": ["test_functools"],
    "heapq, bisect": ["test_heapq", "test_bisect"],
    "asyncio": [
        f"test_asyncio.{name}"
        for name in "test_tasks test_futures test_locks test_queues test_taskgroups test_timeouts".split()
    ],
    "dataclasses": ["test_dataclasses"],
    "typing": ["test_typing"],
    "enum": ["test_enum"],
    "decimal": ["test_decimal"],
    "fractions": ["test_fractions"],
    "string": ["test_string", "test_format", "test_fstring"],
    "textwrap": ["test_textwrap"],
    "random": ["test_random"],
    "hashlib": ["test_hashlib", "test_hmac"],
    "base64": ["test_base64"],
    "zoneinfo": ["test_zoneinfo.test_zoneinfo"],
    "urllib.parse": ["test_urlparse"],
    "html": ["test_html", "test_htmlparser"],
    "xml.etree": ["test_xml_etree"],
}

# How long a run of a module's tests may take before the next one begins with the tests that are left, and
# how long its last test may take until the run has been ended.
SECONDS = 10
RUN_SECONDS = 25

# How long a test may run on CPython. One that takes longer is not counted: some do not end without
# Debian's patches.
TEST_SECONDS = 10

# Runs in both interpreters the tests that WANTED names, or all. After the time, no further test begins.
RUNNER = '''
import importlib, io, json, os, signal, sys, time, unittest, warnings
sys.path.insert(0, os.getcwd())
warnings.simplefilter("ignore")
ends = time.monotonic() + SECONDS

if sys.implementation.name != "cpython":
    # There, the whole standard library is frozen; these tests would look for it in files.
    import functools
    from test.support import import_helper
    fresh = functools.partial(import_helper.import_fresh_module, usefrozen=True)
    def import_fresh_module(name, *names, **keywords):
        try:
            return fresh(name, *names, **keywords)
        except ImportError:
            # The library cannot do without the part that the tests block.
            return None
    import_helper.import_fresh_module = import_fresh_module
    # The tests of asyncio ask for what Python 3.14 no longer has, and accept that it is not there.
    import asyncio
    def get_child_watcher(self): raise NotImplementedError
    type(asyncio.get_event_loop_policy()).get_child_watcher = get_child_watcher
    # The tests of typing use this name in a class, where Python 3.14 no longer has it.
    import builtins
    builtins.__annotations__ = {}

class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.tests = {}
    def startTest(self, test):
        super().startTest(test)
        self.shouldStop = time.monotonic() > ends
        self.say("BEGIN", test.id())
    def stopTest(self, test):
        super().stopTest(test)
        if test.id() in self.tests:
            self.say("END", {test.id(): self.tests[test.id()]})
    def say(self, mark, what):
        # So that it is known of a program that is ended from outside how far it came.
        if sys.implementation.name != "cpython":
            print(mark + json.dumps(what), file=shown[0], flush=True)
    def note(self, test, status, error=None):
        text = "" if error is None else f"{error[0].__name__}: {error[1]}".split("\\n")[0][:160]
        if self.tests.get(test.id(), ["ok"])[0] == "ok":
            self.tests[test.id()] = [status, text]
    def addSuccess(self, test): self.note(test, "ok")
    def addExpectedFailure(self, test, error): self.note(test, "ok")
    def addSkip(self, test, reason): self.note(test, "skipped")
    def addFailure(self, test, error): self.note(test, "failed", error)
    def addError(self, test, error): self.note(test, "failed", error)
    def addUnexpectedSuccess(self, test): self.note(test, "failed")
    def addSubTest(self, test, subtest, error):
        if error is not None: self.note(test, "failed", error)

def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif "ZoneInfoTest[" in test.id():
            # There is one for each file of time zones of the machine, which programs do not see.
            continue
        elif WANTED is not None and test.id() not in WANTED:
            continue
        elif None in (getattr(test, "decimal", test), getattr(test, "module", test)):
            # CPython leaves these out, too, where one of two versions of a library is missing.
            result.note(test, "skipped")
        else:
            yield test

def run(tests, result):
    unittest.TestSuite(tests).run(result)

def run_alone(tests, result):
    # Without a handler, the signal ends a test wherever it is.
    for test in tests:
        read, write = os.pipe()
        if os.fork() == 0:
            signal.alarm(TEST_SECONDS)
            own = Result()
            run([test], own)
            os.write(write, json.dumps(own.tests).encode())
            os._exit(0)
        os.close(write)
        with open(read) as file:
            result.tests.update(json.loads(file.read() or "{}"))
        os.wait()

result = Result()
shown = (sys.stdout, sys.stderr)
try:
    module = importlib.import_module("test." + MODULE)
    if hasattr(module, "pyET"):
        # These tests get the library from the function that runs them.
        import xml.etree.ElementTree
        module.ET = module.pyET = xml.etree.ElementTree
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    try:
        (run_alone if sys.implementation.name == "cpython" else run)(tests_of(suite), result)
    finally:
        sys.stdout, sys.stderr = shown
except Exception as error:
    result.tests["import"] = ["failed", f"{type(error).__name__}: {error}"[:200]]
print("REPORT" + json.dumps(result.tests))
'''


def source(module, wanted=None, seconds=SECONDS):
    """The runner for tests of a module."""
    names = "MODULE, WANTED, SECONDS, TEST_SECONDS"
    return f"{names} = {(module, wanted, seconds, TEST_SECONDS)!r}\n{RUNNER}"


def marked(printed, mark):
    """What the runner printed after a mark."""
    return [json.loads(line[len(mark) :]) for line in printed.splitlines() if line.startswith(mark)]


def on_cpython(module, folder):
    """The results on CPython."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source(module))
        file.flush()
        done = subprocess.run(
            [sys.executable, "-B", "-X", "utf8", file.name], cwd=folder, capture_output=True, text=True
        )
    reports = marked(done.stdout, "REPORT")
    return reports[-1] if reports else {}


def on_onecall(gateway, module, expected):
    """The results on the embedded Python. What a run does not reach in its time runs again; a test that
    does not end although it is the first of a run fails."""
    tests, late = {}, list(expected)
    while late:
        printed, failed = gateway.execute(source(module, set(late)))
        said = printed or failed
        reached = {test: it for found in marked(said, "END") for test, it in found.items()}
        for found in marked(said, "REPORT"):
            reached.update(found)
        if "import" in reached:
            return {test: reached["import"] for test in expected}
        begun = [test for test in marked(said, "BEGIN") if test not in reached]
        if failed and begun and not reached:
            reached[begun[0]] = ["failed", last_line(failed)]
        tests.update(reached)
        before, late = len(late), [test for test in late if test not in tests]
        if len(late) == before:
            break
    return tests


def last_line(failure):
    """The line of a failure that says what happened."""
    lines = [line for line in failure.splitlines() if "Error: " in line]
    return lines[0][:160] if lines else "did not end"


def main():
    wanted = sys.argv[1:] or list(MODULES)
    folder = os.environ["QUALITY_TESTS"]
    configuration = {
        "mcpServers": {},
        "engine": "python",
        "workspace": {"path": folder, "mode": "read-write"},
        "execution": {"timeout_seconds": RUN_SECONDS, "max_output_bytes": 1 << 24, "memory_mb": 2048},
    }
    # CPython is ahead of the embedded Python by a few modules.
    with Gateway(configuration) as gateway, ThreadPoolExecutor(max_workers=1) as cpython:
        modules = [module for name in wanted for module in MODULES[name]]
        results = {module: cpython.submit(on_cpython, module, folder) for module in modules}
        for name in wanted:
            counts, others = dict.fromkeys(("ok", "failed", "skipped"), 0), {}
            for module in MODULES[name]:
                expected = results[module].result()
                expected = {test: it for test, it in expected.items() if it[0] == "ok"}
                found = on_onecall(gateway, module, expected)
                for test in expected:
                    status, error = found.get(test, ["failed", "did not run"])
                    counts[status] += 1
                    if status == "failed":
                        others[test] = error
            print(json.dumps({"module": name, **counts, "others": others}), flush=True)


if __name__ == "__main__":
    main()
