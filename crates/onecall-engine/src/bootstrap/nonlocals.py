"""Functions that say `nonlocal` of a variable of the program's top level.

Where a program is the body of a function, that is how its helpers change its variables. Here such
a variable is global, and the declaration is read as one that says so.
"""

import ast
import re

import _onecall_returns

# How a compiler refuses a name that no function around binds.
_REFUSED = re.compile("no binding for nonlocal '(.+)' found")


def read_as_global(source, file, namespace, error):
    """The program as a tree, in which the declaration that a compiler refused with `error` is one
    of a global name; `None` if the error is another, or the program has no such variable."""
    refused = _REFUSED.fullmatch(error.msg or "")
    if refused is None:
        return None
    name = refused[1]
    tree = compile(source, file, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    if name not in namespace and name not in _onecall_returns.names_bound_by(tree, file):
        return None
    return ast.fix_missing_locations(_Declaration(name, error.lineno).visit(tree))


class _Declaration(ast.NodeTransformer):
    """Declares a name global instead of nonlocal, on one line."""

    def __init__(self, name, line):
        self.name, self.line = name, line

    def visit_Nonlocal(self, node):
        if node.lineno != self.line or self.name not in node.names:
            return node
        declared = ast.copy_location(ast.Global([self.name]), node)
        node.names = [name for name in node.names if name != self.name]
        return [declared, node] if node.names else declared
