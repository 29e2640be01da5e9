"""Runs tests of CPython's standard library on the embedded Python, and on CPython for comparison.

The tests are those of CPython 3.11, in the folder that QUALITY_TESTS names. Prints one JSON object
for each module: of the tests that CPython passes, how many pass on the embedded Python, fail, are
skipped there, and did not run within the time; and the errors of those that fail.
"""

import json
import os
import subprocess
import sys
import tempfile

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
    "enum": ["test_enum"],
    "typing": ["test_typing"],
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

# Tests that run for minutes on a CPython without Debian's patches.
ENDLESS = ["test_sniff_quoted_single_column", "test_sniff_regex_backtracking"]

# How long a module of tests may run.
SECONDS = 10

# Runs in both interpreters. A test that was not finished when the time is over is not counted.
RUNNER = '''
import importlib, io, json, os, sys, time, unittest, warnings
sys.path.insert(0, os.getcwd())
warnings.simplefilter("ignore")
ends = time.monotonic() + SECONDS

if sys.implementation.name != "cpython":
    # There, the whole standard library is frozen; these tests would look for it in files.
    import functools
    from test.support import import_helper
    import_helper.import_fresh_module = functools.partial(
        import_helper.import_fresh_module, usefrozen=True
    )

class Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.tests = {}
    def startTest(self, test):
        super().startTest(test)
        self.shouldStop = time.monotonic() > ends
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

if sys.implementation.name == "cpython":
    # A test that never ends fails here, and is not counted.
    import signal
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError()))
    signal.alarm(4 * SECONDS)

def tests_of(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_of(test)
        elif test.id().rsplit(".", 1)[-1] not in ENDLESS:
            yield test

result = Result()
try:
    module = importlib.import_module("test." + MODULE)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    if CLASS:
        suite = unittest.defaultTestLoader.loadTestsFromName(CLASS, module)
    shown, sys.stdout, sys.stderr = (sys.stdout, sys.stderr), io.StringIO(), io.StringIO()
    try:
        unittest.TestSuite(tests_of(suite)).run(result)
    finally:
        sys.stdout, sys.stderr = shown
except Exception as error:
    result.tests["import"] = ["failed", f"{type(error).__name__}: {error}"[:200]]
print("REPORT" + json.dumps(result.tests))
'''


def source(module, class_name="", seconds=SECONDS):
    """The runner for a module of tests, or one class of it."""
    values = (module, class_name, seconds, ENDLESS)
    return f"MODULE, CLASS, SECONDS, ENDLESS = {values!r}\n{RUNNER}"


def report(printed):
    """What the runner printed, or None."""
    marked = [line for line in printed.splitlines() if line.startswith("REPORT")]
    return json.loads(marked[-1].removeprefix("REPORT")) if marked else None


def on_cpython(module, folder):
    """The results on CPython."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(source(module))
        file.flush()
        done = subprocess.run(
            [sys.executable, "-B", "-X", "utf8", file.name], cwd=folder, capture_output=True, text=True
        )
    return report(done.stdout) or {}


def on_onecall(gateway, module, expected):
    """The results on the embedded Python. If a module ends its worker, its classes run alone."""
    printed, _ = gateway.execute(source(module))
    tests = report(printed)
    if tests is not None:
        return tests
    tests = {}
    classes = dict.fromkeys(name.removeprefix(f"test.{module}.").split(".")[0] for name in expected)
    for class_name in classes:
        printed, failed = gateway.execute(source(module, class_name, seconds=8))
        last = (failed or "").strip().splitlines()[-1:] or [""]
        own = {name: ["failed", last[0][:160]] for name in expected if f".{class_name}." in name}
        tests.update(report(printed) or own)
    return tests


def main():
    wanted = sys.argv[1:] or list(MODULES)
    folder = os.environ["QUALITY_TESTS"]
    configuration = {
        "mcpServers": {},
        "engine": "python",
        "workspace": {"path": folder, "mode": "read-write"},
        "execution": {"timeout_seconds": 60, "max_output_bytes": 1 << 24, "memory_mb": 2048},
    }
    with Gateway(configuration) as gateway:
        for name in wanted:
            counts, others = dict.fromkeys(("ok", "failed", "skipped", "missing"), 0), {}
            for module in MODULES[name]:
                expected = on_cpython(module, folder)
                expected = {test: it for test, it in expected.items() if it[0] == "ok"}
                found = on_onecall(gateway, module, expected)
                missing = found.get("import", ["missing", "did not run"])
                for test in expected:
                    status, error = found.get(test, missing)
                    counts[status] += 1
                    if status == "failed":
                        others[test] = error
            print(json.dumps({"module": name, **counts, "others": others}), flush=True)


if __name__ == "__main__":
    main()
