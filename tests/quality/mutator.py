"""Breaks a Python program in the ways in which programs of models are wrong.

Each tool call of a program is broken in each way that applies to it, one at a time.
"""

import ast

TOP_LEVEL_AWAIT = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

# A value that a type of JSON Schema does not accept, also not after a lenient conversion.
ILL_TYPED = {
    "string": "[1, 2]",
    "integer": '"many"',
    "number": '"a lot"',
    "boolean": '"perhaps"',
    "array": "7",
    "object": '"text"',
}


# A way to look into a value that the shape of the value does not have.
WRONG_ACCESS = {"object": "[0]", "array": '["items"]', "string": '["text"]'}


class Source:
    """The text of a program with its tree, and replacement of a part of the text by another."""

    def __init__(self, code):
        self._bytes = code.encode()
        self._lines = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self.tree = compile(code, "<program>", "exec", TOP_LEVEL_AWAIT)

    def begin(self, node):
        """The position of the first byte of a node."""
        return self._lines[node.lineno - 1] + node.col_offset

    def end(self, node):
        """The position after the last byte of a node."""
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node):
        """The text of a node."""
        return self._bytes[self.begin(node) : self.end(node)].decode()

    def replaced(self, begin, end, text):
        """The program with other text in a place."""
        return (self._bytes[:begin] + text.encode() + self._bytes[end:]).decode()

    def with_node(self, node, text):
        """The program with other text in the place of a node."""
        return self.replaced(self.begin(node), self.end(node), text)


def misspellings(name):
    """Ways in which a name is misspelt: other case, a letter less, two letters swapped, a plural."""
    words = name.split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    middle = len(name) // 2
    variants = [
        camel,
        name[:middle] + name[middle + 1 :],
        name[: middle - 1] + name[middle : middle + 1] + name[middle - 1 : middle] + name[middle + 1 :],
        name[:-1] if name.endswith("s") else name + "s",
    ]
    return [variant for variant in variants if variant != name and variant.isidentifier()]


def misspelt_tool(name, one_of):
    """A callable name in which the name that the tool has on its server is misspelt."""
    prefix, _, own = name.rpartition("__")
    return f"{prefix}__{one_of(misspellings(own) or [own + 's'])}"


def kind_of(schema):
    """The type that a schema names, if it is one type."""
    kinds = schema.get("type")
    if kinds is None and "anyOf" in schema:
        kinds = [option.get("type") for option in schema["anyOf"]]
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        kinds = others[0] if len(others) == 1 else None
    return kinds if isinstance(kinds, str) else None


def shape_of(schema):
    """The type of the value that a tool with this output schema returns."""
    properties = schema.get("properties", {})
    is_marked = schema.get("x-fastmcp-wrap-result") or schema.get("title", "").endswith("Output")
    if list(properties) == ["result"] and is_marked:
        return kind_of(properties["result"])
    return kind_of(schema)


class Mutator:
    """The broken forms of one program, given the definitions of its tools by callable name."""

    def __init__(self, code, tools):
        self._source = Source(code)
        self._tools = tools
        self._parents = {
            child: node
            for node in ast.walk(self._source.tree)
            for child in ast.iter_child_nodes(node)
        }
        self._turn = 0

    def mutants(self):
        """Every broken form, as the class of the mistake and the broken program."""
        for node in ast.walk(self._source.tree):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            tool = self._tools.get(node.func.id)
            if tool is not None:
                yield from self._break_call(node, tool)

    def _break_call(self, call, tool):
        misspelt = misspelt_tool(call.func.id, self._one_of)
        yield "tool misspelt", self._source.with_node(call.func, misspelt)
        yield from self._break_arguments(call, tool["inputSchema"])
        parent = self._parents[call]
        if isinstance(parent, ast.Await):
            unawaited = self._source.text(call)
            yield "call not awaited", self._source.with_node(parent, unawaited)
            yield from self._break_uses(parent, tool.get("outputSchema"))

    def _break_arguments(self, call, schema):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        # A call with `**` or one dict may have any arguments.
        if any(keyword.arg is None for keyword in call.keywords):
            return
        if len(call.args) == 1 and isinstance(call.args[0], (ast.Dict, ast.Name, ast.Starred)):
            return
        given = list(zip(properties, call.args)) + [(it.arg, it.value) for it in call.keywords]
        for keyword in call.keywords:
            if keyword.arg in required:
                yield "argument missing", self._without(call, keyword)
            if keyword.arg in properties:
                begin = self._source.begin(keyword)
                other = self._one_of(misspellings(keyword.arg) or [keyword.arg + "s"])
                if other not in properties:
                    end = begin + len(keyword.arg)
                    yield "argument renamed", self._source.replaced(begin, end, other)
        if call.args and not call.keywords and len(call.args) <= len(required):
            yield "argument missing", self._without(call, call.args[-1])
        for name, value in given:
            argument = properties.get(name, {})
            kind = kind_of(argument)
            if kind in ILL_TYPED and "enum" not in argument:
                yield "argument ill-typed", self._source.with_node(value, ILL_TYPED[kind])
            if "enum" in argument:
                yield "outside an enum", self._source.with_node(value, '"something_else"')

    def _without(self, call, argument):
        everything = [*call.args, *call.keywords]
        position = everything.index(argument)
        begin, end = self._source.begin(argument), self._source.end(argument)
        if position + 1 < len(everything):
            end = self._source.begin(everything[position + 1])
        elif position > 0:
            begin = self._source.end(everything[position - 1])
        return self._source.replaced(begin, end, "")

    def _break_uses(self, awaited, schema):
        """Uses a result as another shape than its schema declares."""
        wrong = WRONG_ACCESS.get(shape_of(schema or {}))
        if wrong is None:
            return
        for use in self._uses(awaited):
            text = self._source.text(use)
            shown = f"({text})" if isinstance(use, ast.Await) else text
            yield "result of another shape", self._source.with_node(use, shown + wrong)

    def _uses(self, awaited):
        """The first place where a result is looked into."""
        parent = self._parents[awaited]
        if isinstance(parent, (ast.Subscript, ast.Attribute)):
            return [awaited]
        if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
            name = parent.targets[0].id
            looked_into = (ast.Subscript, ast.Attribute, ast.For, ast.comprehension)
            for node in ast.walk(self._source.tree):
                is_use = isinstance(node, ast.Name) and node.id == name
                if is_use and isinstance(node.ctx, ast.Load) and node.lineno > parent.lineno:
                    if isinstance(self._parents[node], looked_into):
                        return [node]
        return []

    def _one_of(self, variants):
        self._turn += 1
        return variants[self._turn % len(variants)]
