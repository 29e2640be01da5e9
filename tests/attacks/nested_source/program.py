DEPTH = 100_000

def refused(source, run=compile):
    try:
        run(source, "<hostile>", "exec") if run is compile else run(source)
    except (SyntaxError, RecursionError, MemoryError, ValueError, OverflowError) as error:
        return "refused"
    return "taken"

# %% parentheses
print(refused("(" * DEPTH + ")" * DEPTH))
print(refused("(" * DEPTH))

# %% brackets
print(refused("[" * DEPTH + "]" * DEPTH))
print(refused("{" * DEPTH + "}" * DEPTH))

# %% minus
print(refused("-" * DEPTH + "1"))

# %% not
print(refused("not " * DEPTH + "1"))

# %% powers
print(refused("1" + "**1" * DEPTH))

# %% sums
print(refused("1" + "+1" * DEPTH))

# %% attributes
print(refused("x" + ".a" * DEPTH))

# %% calls
print(refused("x" + "()" * DEPTH))

# %% subscripts
print(refused("x" + "[0]" * DEPTH))

# %% lambdas
print(refused("lambda: " * DEPTH + "1"))

# %% conditions
print(refused("1 if 1 else " * DEPTH + "1"))

# %% comparisons
print(refused("1" + "<1" * 20_000) in ("refused", "taken"))

# %% blocks
print(refused("".join(" " * depth + "if 1:\n" for depth in range(1000)) + " " * 1000 + "pass"))

# %% else if
print(refused("if 0: pass\n" + "elif 0: pass\n" * 1000) in ("refused", "taken"))

# %% f-strings
print(refused("f'{" * 1000 + "1" + "}'" * 1000))

# %% awaits
print(refused("async def f():\n  " + "await " * DEPTH + "x"))

# %% stars
print(refused("print(" + "*" * DEPTH + "x)"))

# %% decorators
print(refused("@x\n" * DEPTH + "def f(): pass") in ("refused", "taken"))

# %% strings side by side
print(refused("'a'" * DEPTH) in ("refused", "taken"))

# %% names as long as a book
print(refused("x" * 10_000_000) in ("refused", "taken"))

# %% an unfinished string
print(refused("'" + "x" * 10_000_000))

# %% null bytes
print(refused("print(1)\0"))

# %% evaluated
print(refused("(" * DEPTH + ")" * DEPTH, eval))
print(refused("-" * DEPTH + "1", eval))
print(refused("[" * DEPTH + "]" * DEPTH, exec))

# %% parsed
import ast
print(refused("-" * DEPTH + "1", ast.parse))
print(refused("[" * DEPTH + "]" * DEPTH, ast.literal_eval))
print(refused("-" * 90 + "1", ast.literal_eval))

# %% a tree built by hand
import ast
node = ast.Constant(1)
for _ in range(5000):
    node = ast.UnaryOp(ast.USub(), node)
tree = ast.fix_missing_locations(ast.Expression(node))
print(refused(tree, lambda tree: compile(tree, "x", "eval")))

# %% a pattern
print(refused("match x:\n case " + "[" * DEPTH + "]" * DEPTH + ": pass"))

# %% a type
print(refused("x: " + "list[" * DEPTH + "int" + "]" * DEPTH))

# %% statements on one line
print(refused("x=1;" * 50_000))

# %% nested functions
print(refused("".join(" " * depth + f"def f{depth}():\n" for depth in range(200)) + " " * 200 + "pass"))

# %% nested comprehensions
print(refused("[" * 15 + "x" + " for x in y]" * 15))

# %% else if without end
_ = refused("if 0: pass\n" + "elif 0: pass\n" * DEPTH)

# %% nested comprehensions without end
_ = refused("[" * 150 + "x" + " for x in y]" * 150)
