"""Runs a program with some variables of its top level as local variables of its code, which are
faster than those of a module.

The gateway chooses variables for which the program cannot tell the difference while it runs. When it
has ended, they are put into its module, as if they had always been there: the objects stay alive,
and the value of the program is found.
"""

import ast
import sys

from _onecall_tools import PROGRAM

# The function that a program with local variables calls at its end.
_END = "__onecall_end__"


def with_end(program, namespace):
    """The program, which is a text or a syntax tree, with a last statement that puts its local
    variables into its module. No line or column changes."""
    namespace["__builtins__"][_END] = _end
    if isinstance(program, ast.Module):
        program.body += ast.parse(f"{_END}()").body
        return program
    return f"{program}\n{_END}()"


def keep_values(error):
    """Puts the local variables of a program that has failed with `error` into its module."""
    entry = error.__traceback__
    while entry is not None:
        frame = entry.tb_frame
        if frame.f_code.co_filename == PROGRAM and frame.f_code.co_name == "<module>":
            _keep(frame)
            return
        entry = entry.tb_next


def _end():
    _keep(sys._getframe(1))


def _keep(frame):
    frame.f_globals.update(frame.f_locals)
