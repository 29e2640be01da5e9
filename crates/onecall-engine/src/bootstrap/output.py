"""The output streams of a program, which send everything to the gateway as frames."""

import io

import _onecall as wire


class ByteOutput(io.RawIOBase):
    """`sys.stdout.buffer`: bytes go out as they are."""

    def __init__(self, to_stderr):
        self._to_stderr = to_stderr

    def writable(self):
        return True

    def write(self, data):
        data = bytes(data)
        wire.print_bytes(data, self._to_stderr)
        return len(data)


class TextOutput(io.TextIOBase):
    """`sys.stdout` and `sys.stderr` of a program."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, to_stderr):
        self._to_stderr = to_stderr
        self.buffer = ByteOutput(to_stderr)
        self.name = "<stderr>" if to_stderr else "<stdout>"
        self.mode = "w"

    def writable(self):
        return True

    def write(self, text):
        wire.print(text, self._to_stderr)
        return len(text)

    def flush(self):
        wire.flush()

    def reconfigure(self, **_settings):
        """Accepted for programs that set an encoding; output is UTF-8 anyway."""
