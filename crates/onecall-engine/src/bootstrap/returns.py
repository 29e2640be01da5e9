"""Supports `return` at the top level of a program.

Such a program is compiled as the body of a function, because only there the compiler knows how a
`return` leaves `try`, `with` and loops. Every name that the body binds is declared global, and the
code is then run like a module's, its local names being the module's: `locals()`, `exec` and
sessions see no difference.
"""

import ast
import inspect
import sys

# The message of the compiler for a `return` outside of a function.
REFUSED = "'return' outside function"

# Names that no program can write: the module of a star import, and the function that imports it.
_MODULE = "<module of a star import>"
_IMPORT_STAR = "<spread a star import>"

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# Annotations of variables are evaluated lazily.
_ARE_DEFERRED = sys.version_info >= (3, 14)


def compiled(source, file, namespace):
    """Compiles a program with a `return` at its top level, to be evaluated in `namespace`. The
    result is the returned value, or else that of the last expression; if the program awaits
    anything, it is a coroutine for that value."""
    tree = compile(source, file, "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True)
    features = [statement for statement in tree.body if _is_future(statement)]
    body = [statement for statement in tree.body if not _is_future(statement)]
    _name_documentation(body)
    scope = _Scope(file)
    scope.visit_all(body)
    lowering = _Lowering(any(_makes_annotations_text(feature) for feature in features))
    body = [part for statement in body for part in lowering.statements(statement)]
    if body and isinstance(body[-1], ast.Expr):
        body[-1] = ast.copy_location(ast.Return(body[-1].value), body[-1])
    names = sorted(scope.names | lowering.names)
    function = ast.parse("async def f(): pass" if scope.awaits else "def f(): pass").body[0]
    function.name, function.body = "<module>", [*([ast.Global(names)] if names else []), *body]
    tree.body = [*features, function]
    ast.fix_missing_locations(tree)
    module = compile(tree, file, "exec", dont_inherit=True)
    (code,) = [constant for constant in module.co_consts if isinstance(constant, type(module))]
    namespace["__builtins__"][_IMPORT_STAR] = _import_star
    if lowering.annotates:
        namespace.setdefault("__annotations__", {})
    return code.replace(co_flags=code.co_flags & ~(inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS))


def names_bound_by(tree, file):
    """The names that the top level of a program binds."""
    scope = _Scope(file)
    scope.visit_all(tree.body)
    return scope.names


def _is_future(statement):
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _makes_annotations_text(feature):
    """Whether annotations are turned into strings."""
    return any(alias.name == "annotations" for alias in feature.names)


def _name_documentation(body):
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        if isinstance(first.value.value, str):
            target = ast.copy_location(ast.Name("__doc__", ast.Store()), first)
            body[0] = ast.copy_location(ast.Assign([target], first.value), first)


def _import_star(name, level):
    """Executes `from name import *` in the namespace of the program."""
    namespace = sys._getframe(1).f_globals
    namespace.pop(_MODULE, None)
    exec(compile(f"from {'.' * level}{name} import *", "<onecall>", "exec"), namespace)


class _Scope(ast.NodeVisitor):
    """Collects what the top level of a program does: the names it binds, and whether it awaits."""

    def __init__(self, file):
        self.file = file
        self.names = set()
        self.awaits = False
        # Inside comprehensions, only `:=` binds a name of the surrounding scope.
        self.comprehensions = 0

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load) and not self.comprehensions:
            self.names.add(node.id)

    def visit_NamedExpr(self, node):
        self.names.add(node.target.id)
        self.visit(node.value)

    def visit_Global(self, node):
        self.names.update(node.names)

    def visit_alias(self, node):
        if node.name != "*":
            self.names.add(node.asname or node.name.partition(".")[0])

    def visit_FunctionDef(self, node):
        self.names.add(node.name)
        self.visit_all(node.decorator_list)
        self._visit_signature(node.args)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        self._visit_signature(node.args)

    def _visit_signature(self, arguments):
        self.visit_all(arguments.defaults)
        self.visit_all(default for default in arguments.kw_defaults if default is not None)

    def visit_ClassDef(self, node):
        self.names.add(node.name)
        self.visit_all(node.decorator_list)
        self.visit_all(node.bases)
        self.visit_all(keyword.value for keyword in node.keywords)

    def visit_ExceptHandler(self, node):
        self._bind_and_visit(node, node.name)

    def visit_MatchAs(self, node):
        self._bind_and_visit(node, node.name)

    def visit_MatchStar(self, node):
        self._bind_and_visit(node, node.name)

    def visit_MatchMapping(self, node):
        self._bind_and_visit(node, node.rest)

    def visit_TypeAlias(self, node):
        self.names.add(node.name.id)

    def visit_Await(self, node):
        self._note_await_and_visit(node)

    def visit_AsyncFor(self, node):
        self._note_await_and_visit(node)

    def visit_AsyncWith(self, node):
        self._note_await_and_visit(node)

    def visit_Yield(self, node):
        position = self.file, node.lineno, node.col_offset + 1, None
        raise SyntaxError("'yield' outside function", position)

    visit_YieldFrom = visit_Yield

    def generic_visit(self, node):
        if isinstance(node, _COMPREHENSIONS):
            self._visit_comprehension(node)
        else:
            super().generic_visit(node)

    def _visit_comprehension(self, node):
        first = node.generators[0]
        self.visit(first.iter)
        awaits = self.awaits
        self.comprehensions += 1
        for generator in node.generators:
            self.awaits |= bool(generator.is_async)
            if generator is not first:
                self.visit(generator.iter)
            self.visit_all(generator.ifs)
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self.visit_all(elements)
        self.comprehensions -= 1
        if isinstance(node, ast.GeneratorExp):
            # A generator expression awaits only when it is iterated.
            self.awaits = awaits

    def _bind_and_visit(self, node, name):
        if name is not None:
            self.names.add(name)
        super().generic_visit(node)

    def _note_await_and_visit(self, node):
        self.awaits = True
        super().generic_visit(node)

    def visit_all(self, nodes):
        for node in nodes:
            self.visit(node)


class _Lowering(ast.NodeTransformer):
    """Rewrites what is allowed in a module but not in a function with global names: annotations of
    variables, and star imports."""

    def __init__(self, are_texts):
        self.are_texts = are_texts
        self.names = set()
        self.annotates = False

    def statements(self, statement):
        lowered = self.visit(statement)
        return lowered if isinstance(lowered, list) else [lowered]

    def visit_ImportFrom(self, node):
        if not any(alias.name == "*" for alias in node.names):
            return node
        self.names.add(_MODULE)
        arguments = [ast.Constant(node.module or ""), ast.Constant(node.level)]
        spread = ast.Expr(ast.Call(ast.Name(_IMPORT_STAR, ast.Load()), arguments, []))
        parts = [spread]
        if not node.level:
            # The check of the program's imports finds the module by this import.
            parts.insert(0, ast.Import([ast.alias(node.module, _MODULE)]))
        return [_at_position_of(part, node) for part in parts]

    def visit_AnnAssign(self, node):
        if not isinstance(node.target, ast.Name):
            return node
        parts = []
        if node.value is not None:
            parts.append(ast.Assign([node.target], node.value))
        if node.simple and not _ARE_DEFERRED:
            self.annotates = True
            annotation = node.annotation
            if self.are_texts:
                annotation = ast.Constant(ast.unparse(annotation))
            annotations = ast.Name("__annotations__", ast.Load())
            entry = ast.Subscript(annotations, ast.Constant(node.target.id), ast.Store())
            parts.append(ast.Assign([entry], annotation))
        return [_at_position_of(part, node) for part in parts or [ast.Pass()]]

    def _leave(self, node):
        return node

    # Nested scopes do not belong to the top level.
    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _leave


def _at_position_of(part, node):
    """Gives `part` the position of `node`; nodes inside that have a position keep it."""
    for inner in ast.walk(part):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, node)
    return part
