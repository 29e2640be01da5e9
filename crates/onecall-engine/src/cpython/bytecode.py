"""Changes the compiled code of programs."""

import dis
import sys

# In this version, the variables of a module and the local variables of its code are found together
# by `f_locals` of a frame.
_IS_KNOWN = sys.version_info[:2] == (3, 11)

_LOCAL = {
    dis.opmap["LOAD_NAME"]: dis.opmap["LOAD_FAST"],
    dis.opmap["STORE_NAME"]: dis.opmap["STORE_FAST"],
}

# The largest number of a local variable that an instruction can have without a prefix.
_LARGEST = 255


def with_fast_names(code, names):
    """The code of a program with these variables of its top level, one per line, as local variables.
    Every instruction keeps its place."""
    if not _IS_KNOWN:
        return code
    names = tuple(name for name in names.split("\n") if name in code.co_names)
    first = code.co_nlocals
    numbers = {code.co_names.index(name): first + at for at, name in enumerate(names)}
    instructions = bytearray(code.co_code)
    prefix = 0
    for at in range(0, len(instructions), 2):
        operation, argument = instructions[at], prefix | instructions[at + 1]
        if operation == dis.EXTENDED_ARG:
            prefix = argument << 8
            continue
        number = numbers.get(argument, _LARGEST + 1)
        if operation in _LOCAL and number <= _LARGEST:
            instructions[at : at + 2] = _LOCAL[operation], number
            while prefix:
                at -= 2
                instructions[at + 1] = 0
                prefix >>= 8
        prefix = 0
    return code.replace(
        co_code=bytes(instructions),
        co_varnames=code.co_varnames + names,
        co_nlocals=first + len(names),
    )
