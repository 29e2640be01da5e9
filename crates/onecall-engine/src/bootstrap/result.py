"""Finds out whether a program assigns a variable at its top level."""

import ast

# Syntax with a scope of its own.
_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)


def assigns(tree, name):
    """Whether `tree`, the syntax tree of a program, assigns `name` outside of functions and
    classes; an assignment inside an `if` or a loop counts."""
    waiting = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            return True
        if not isinstance(node, _SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
    return False
