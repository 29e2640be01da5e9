"""The examples of the README do what it says."""

import os
import re
import subprocess
import sys
import unittest

import support

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")


class Examples(unittest.TestCase):
    def test_every_example_prints_what_follows_it(self):
        with open(README) as file:
            text = file.read()
        examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(examples), text.count("```python"))
        path = os.pathsep.join(filter(None, sys.path))
        for code, expected in examples:
            with self.subTest(code):
                ended = subprocess.run(
                    [sys.executable, "-c", code],
                    env={**os.environ, "PYTHONPATH": path},
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=120,
                )
                self.assertEqual((ended.stdout, ended.stderr), (expected, ""))


if __name__ == "__main__":
    unittest.main()
