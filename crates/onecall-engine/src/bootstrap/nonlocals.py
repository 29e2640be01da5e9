"""Supports functions that declare a variable of the program's top level as `nonlocal`.

In programs that were written as the body of a function, inner functions change variables in this
way. Here such a variable is global, and the declaration is treated as a global one.
"""

import ast
import re

import _onecall_returns

# The message of the compiler for a nonlocal name without a binding.
_REFUSED = re.compile("no binding for nonlocal '(.+)' found")


def read_as_global(source, file, namespace, error):
    """The syntax tree of the program, with the declaration that the compiler refused with `error`
    changed into a global one; `None` if it is another error, or the program has no such
    variable."""
    refused = _REFUSED.fullmatch(error.msg or "")
    if refused is None:
        return None
    name = refused[1]
    tree = compile(source, file, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    if name not in namespace and name not in _onecall_returns.names_bound_by(tree, file):
        return None
    return ast.fix_missing_locations(_Declaration(name, error.lineno).visit(tree))


class _Declaration(ast.NodeTransformer):
    """Changes a nonlocal declaration into a global one, on one line."""

    def __init__(self, name, line):
        self.name, self.line = name, line

    def visit_Nonlocal(self, node):
        if node.lineno != self.line or self.name not in node.names:
            return node
        declared = ast.copy_location(ast.Global([self.name]), node)
        node.names = [name for name in node.names if name != self.name]
        return [declared, node] if node.names else declared
