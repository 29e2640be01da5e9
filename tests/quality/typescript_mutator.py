"""Breaks a TypeScript program in the ways in which programs of models are wrong.

Python has no parser for TypeScript, so this reads brackets, texts and comments, and finds the calls
of tools among them: `mcp__server__tool(…)`. Each is broken in each way that applies to it, one at a
time.
"""

import re

from mutator import ILL_TYPED, kind_of, misspelt_tool, misspellings, shape_of

OPEN, CLOSE = "([{", ")]}"
CALL = re.compile(r"\bmcp__\w+(?=\s*\()")
AWAIT = re.compile(r"\bawait\s+$")
KEY = re.compile(r"""\s*(?:(\w+)|"(\w+)"|'(\w+)')\s*(:|$)""")
BEFORE_EXPRESSION = re.compile(r"(?:[(,=:\[!&|?{};+]|\breturn|=>|^)\s*$")
TRAILING_COMMA = re.compile(r"(?:\s*,)?")
ASSIGNED = re.compile(r"\b(?:const|let)\s+(\w+)\s*(?::[^=\n]+)?=\s*$")

# A way to look into a value that the shape of the value does not have.
WRONG_ACCESS = {"object": "[0]", "array": ".items", "string": ".text"}


def blanked(code):
    """The program with spaces in the place of comments and of what is in texts and regular expressions, of the same length.

    The expressions in a template stay."""
    result, templates, at = list(code), [], 0

    def blank(begin, end):
        for place in range(begin, end):
            if result[place] != "\n":
                result[place] = " "

    while at < len(code):
        rest = code[at : at + 2]
        if rest == "//":
            end = code.find("\n", at)
            end = len(code) if end < 0 else end
            blank(at, end)
            at = end
        elif rest == "/*":
            end = code.find("*/", at + 2) + 2
            blank(at, end)
            at = end
        elif code[at] == "/" and BEFORE_EXPRESSION.search(code[max(0, at - 20) : at]):
            end, in_class = at + 1, False
            while code[end] != "/" or in_class:
                in_class = code[end] == "[" or (in_class and code[end] != "]")
                end += 2 if code[end] == "\\" else 1
            blank(at + 1, end)
            at = end + 1
        elif code[at] in "\"'":
            end = at + 1
            while code[end] != code[at]:
                end += 2 if code[end] == "\\" else 1
            blank(at + 1, end)
            at = end + 1
        elif code[at] == "`" or (code[at] == "}" and templates and templates[-1] == 0):
            if code[at] == "}":
                templates.pop()
            end = at + 1
            while code[end] != "`" and code[end : end + 2] != "${":
                end += 2 if code[end] == "\\" else 1
            blank(at + 1, end)
            if code[end] == "$":
                templates.append(0)
                result[end] = " "
                end += 1
            at = end + 1
        else:
            if templates and code[at] in "{}":
                templates[-1] += 1 if code[at] == "{" else -1
            at += 1
    return "".join(result)


class Call:
    """A call of a tool: where its name, its arguments and an `await` before it begin and end."""

    def __init__(self, plain, name_begin, name_end):
        self.name = plain[name_begin:name_end]
        self.name_begin, self.name_end = name_begin, name_end
        self.open = plain.index("(", name_end)
        self.end = closing(plain, self.open) + 1
        waits = AWAIT.search(plain[:name_begin])
        self.await_begin = waits.start() if waits else None
        self.arguments = parts(plain, self.open)


def closing(plain, begin):
    """Where the bracket closes that opens at a place."""
    depth = 0
    for place in range(begin, len(plain)):
        depth += (plain[place] in OPEN) - (plain[place] in CLOSE)
        if depth == 0:
            return place
    raise ValueError(f"the bracket at {begin} does not close")


def parts(plain, begin):
    """The parts between commas inside the bracket that opens at a place, without space around them."""
    found, depth, first = [], 0, begin + 1
    for place in range(begin, closing(plain, begin) + 1):
        depth += (plain[place] in OPEN) - (plain[place] in CLOSE)
        if (plain[place] == "," and depth == 1) or depth == 0:
            text = plain[first:place]
            if text.strip():
                left = len(text) - len(text.lstrip())
                found.append((first + left, first + len(text.rstrip())))
            first = place + 1
    return found


class TypeScriptMutator:
    """The broken forms of one program, given the definitions of its tools by callable name."""

    def __init__(self, code, tools):
        self._code = code
        self._plain = blanked(code)
        self._tools = tools
        self._turn = 0

    def mutants(self):
        """Every broken form, as the class of the mistake and the broken program."""
        for found in CALL.finditer(self._plain):
            tool = self._tools.get(found.group())
            if tool is not None:
                yield from self._break_call(Call(self._plain, *found.span()), tool)

    def _break_call(self, call, tool):
        misspelt = misspelt_tool(call.name, self._one_of)
        yield "tool misspelt", self._replaced(call.name_begin, call.name_end, misspelt)
        yield from self._break_arguments(call, tool["inputSchema"])
        if call.await_begin is not None:
            # A call whose value is not used is made without `await`, too.
            before = self._plain[: call.await_begin].rstrip(" ")
            if before and before[-1] not in ";{}\n":
                yield "call not awaited", self._replaced(call.await_begin, call.name_begin, "")
            yield from self._break_uses(call, tool.get("outputSchema"))

    def _break_arguments(self, call, schema):
        if len(call.arguments) != 1 or self._plain[call.arguments[0][0]] != "{":
            return
        properties, required = schema.get("properties", {}), schema.get("required", [])
        entries = parts(self._plain, call.arguments[0][0])
        if any(self._plain.startswith(("...", "["), begin) for begin, _ in entries):
            return
        for position, (begin, end) in enumerate(entries):
            key = KEY.match(self._code[begin:end])
            if key is None:
                continue
            name = key.group(1) or key.group(2) or key.group(3)
            if name in required:
                yield "argument missing", self._without(entries, position)
            argument = properties.get(name)
            if argument is None:
                continue
            other = self._one_of(misspellings(name) or [name + "s"])
            is_short = key.group(4) == ""
            if other not in properties:
                written = f"{other}: {name}" if is_short else f"{other}:"
                last = end if is_short else begin + key.end()
                yield "argument renamed", self._replaced(begin, last, written)
            kind = kind_of(argument)
            if kind in ILL_TYPED and "enum" not in argument:
                yield "argument ill-typed", self._replaced(begin, end, f"{name}: {ILL_TYPED[kind]}")
            if "enum" in argument:
                yield "outside an enum", self._replaced(begin, end, f'{name}: "something_else"')

    def _without(self, entries, position):
        begin, end = entries[position]
        if position + 1 < len(entries):
            end = entries[position + 1][0]
        elif position > 0:
            begin = entries[position - 1][1]
        else:
            end += len(TRAILING_COMMA.match(self._plain, end).group())
        return self._replaced(begin, end, "")

    def _break_uses(self, call, schema):
        """Uses a result as another shape than its schema declares, at the first look into it."""
        wrong = WRONG_ACCESS.get(shape_of(schema or {}))
        if wrong is None:
            return
        place = self._use(call)
        if place is not None:
            yield "result of another shape", self._replaced(place, place, wrong)

    def _use(self, call):
        """Where the first value ends into which the program looks: after `(await …)`, or after the
        variable that has the result."""
        before = self._plain[: call.await_begin].rstrip()
        after = self._plain[call.end :]
        is_closed = after.lstrip().startswith(")")
        if before.endswith("(") and is_closed:
            end = call.end + after.index(")") + 1
            return end if self._plain[end : end + 1] in (".", "[") else None
        assigned = ASSIGNED.search(self._plain[: call.await_begin])
        if assigned is None:
            return None
        name = assigned.group(1)
        look = re.compile(rf"(?<![\w.]){name}(?=\.\w|\[)|(?<=\bof )\b{name}(?=\))")
        used = look.search(self._plain, call.end)
        return used.end() if used else None

    def _replaced(self, begin, end, text):
        return self._code[:begin] + text + self._code[end:]

    def _one_of(self, variants):
        self._turn += 1
        return variants[self._turn % len(variants)]
