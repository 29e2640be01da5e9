"""Which onecall is started."""

import logging
import os
import stat
import tempfile
import unittest
from unittest import mock

import support  # noqa: F401  (finds the package)
from onecall_client import BinaryNotFound, Client, OnecallError
from onecall_client.binary import find_binary


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, stat.S_IRWXU)
    return path


class Binary(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        logging.disable()
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_argument_then_variable_then_path(self):
        with tempfile.TemporaryDirectory() as folder:
            given, named = script(folder, "given", ""), script(folder, "named", "")
            on_path = script(folder, "onecall", "")
            with mock.patch.dict(os.environ, {"ONECALL_BIN": named, "PATH": folder}):
                self.assertEqual(find_binary(given), given)
                self.assertEqual(find_binary(), named)
                del os.environ["ONECALL_BIN"]
                self.assertEqual(find_binary(), on_path)

    def test_a_binary_beside_this_python(self):
        with tempfile.TemporaryDirectory() as folder:
            installed = script(folder, "onecall", "")
            with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
                os.environ.pop("ONECALL_BIN", None)
                with mock.patch("sysconfig.get_path", return_value=folder):
                    self.assertEqual(find_binary(), installed)

    def test_a_missing_binary_is_named(self):
        with mock.patch.dict(os.environ, {"PATH": "/nowhere"}):
            os.environ.pop("ONECALL_BIN", None)
            with self.assertRaisesRegex(BinaryNotFound, r"no executable 'onecall' \(from PATH\)"):
                Client()
            os.environ["ONECALL_BIN"] = "/no/such"
            with self.assertRaisesRegex(BinaryNotFound, r"'/no/such' \(from \$ONECALL_BIN\)"):
                Client()

    async def test_a_binary_that_is_something_else(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = [
                ("echo no config >&2; exit 2", "onecall ended with exit code 2: no config"),
                ("echo hello", "this client cannot read the messages of onecall"),
                ('echo \'{"type":"ready","protocol":99}\'; cat', "onecall uses protocol 99"),
            ]
            for text, message in cases:
                with self.subTest(text):
                    client = Client(binary=script(folder, "other", text))
                    with self.assertRaisesRegex(OnecallError, message):
                        await client.__aenter__()


if __name__ == "__main__":
    unittest.main()
