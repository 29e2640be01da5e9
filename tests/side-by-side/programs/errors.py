#%% tool_error
await mcp__kit__fail(message="disk is full")

#%% tool_error_caught
try:
    await mcp__kit__fail(message="disk is full")
except Exception as error:
    print(type(error).__name__, "-", error)

#%% tool_error_by_its_name
#% better: the exception of a tool call has a name
try:
    await mcp__kit__fail(message="disk is full")
except ToolError as error:
    print(error)

#%% tool_error_is_an_exception
try:
    await mcp__kit__fail()
except BaseException as error:
    print(isinstance(error, Exception), error.args)

#%% bare_except
try:
    await mcp__kit__fail()
except:
    print("caught")

#%% tool_error_with_an_empty_message
try:
    await mcp__kit__fail(message="")
except Exception as error:
    print(repr(str(error)))

#%% tool_error_with_several_lines
try:
    await mcp__kit__fail(message="one\ntwo")
except Exception as error:
    print(str(error).splitlines())

#%% tool_error_with_unicode
try:
    await mcp__kit__fail(message="größer als 5 €")
except Exception as error:
    print(error)

#%% tool_error_of_several_lines_uncaught
await mcp__kit__fail(message="one\ntwo")

#%% error_inside_the_tool
try:
    await mcp__kit__missing_key()
except Exception as error:
    print(error)

#%% division_by_zero_in_the_tool
try:
    await mcp__kit__divide(a=1, b=0)
except Exception as error:
    print(error)

#%% retry_until_it_works
for attempt in range(1, 5):
    try:
        print(await mcp__kit__flaky(attempt=attempt))
        break
    except Exception as error:
        print("retry:", str(error).split(": ")[-1])

#%% errors_collected
errors = []
for n in (1, 0, 2):
    try:
        print(await mcp__kit__divide(a=4, b=n))
    except Exception as error:
        errors.append(n)
print("failed:", errors)

#%% error_after_output
print("before")
await mcp__kit__fail(message="late")

#%% reraised
try:
    await mcp__kit__fail(message="inner")
except Exception:
    raise

#%% own_exception
#% better: the exception has the name that the program gave it
class Refused(Exception):
    pass
raise Refused("not today")

#%% own_exception_from_a_tool_error
try:
    await mcp__kit__fail(message="inner")
except Exception as error:
    raise RuntimeError("outer") from error

#%% error_while_handling
try:
    await mcp__kit__fail(message="inner")
except Exception:
    {}["absent"]

#%% value_error
int("x")

#%% key_error
{}["absent"]

#%% index_error
[][1]

#%% type_error
len(5)

#%% zero_division
print(1 / 0)

#%% attribute_error
class Thing:
    pass
Thing().absent

#%% name_error
print(undefined_name_of_nobody)

#%% assertion
assert 1 == 2, "numbers differ"

#%% assertion_without_message
assert False

#%% import_error
#% better: the error says where the module could come from
import module_that_nobody_has

#%% not_implemented
raise NotImplementedError

#%% exception_without_message
raise ValueError

#%% stop_iteration
#% better: the exception is the one that the program raised
next(iter([]))

#%% unpacking_error
a, b = [1]

#%% unicode_decode_error
b"\xff".decode("utf-8")

#%% json_decode_error
import json
json.loads("{")

#%% recursion_error
def forever(n):
    return forever(n + 1)
try:
    forever(0)
except RecursionError:
    print("too deep")

#%% syntax_error_type
def broken(:
    pass

#%% syntax_error_in_eval
try:
    eval("1 +")
except SyntaxError as error:
    print(type(error).__name__)

#%% unclosed_bracket
print((1, 2)
x = 1

#%% unexpected_indent
x = 1
    y = 2

#%% await_outside_async
def f():
    return await mcp__kit__add(a=1, b=1)
print(f())

#%% exception_group
try:
    raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])
except* ValueError as group:
    print("values", len(group.exceptions))
except* KeyError as group:
    print("keys", len(group.exceptions))

#%% exception_note
try:
    error = ValueError("base")
    error.add_note("a note")
    raise error
except ValueError as caught:
    print(caught.__notes__)

#%% traceback_module
import traceback
try:
    1 / 0
except ZeroDivisionError:
    print(traceback.format_exc().splitlines()[-1])

#%% traceback_of_a_tool_error
import traceback
try:
    await mcp__kit__fail(message="x")
except Exception:
    print(traceback.format_exc().splitlines()[-1])

#%% sys_exc_info
import sys
try:
    await mcp__kit__fail(message="x")
except Exception:
    print(sys.exc_info()[0].__name__)

#%% finally_runs_on_errors
try:
    await mcp__kit__fail(message="x")
except Exception:
    print("handled")
finally:
    print("finally")

#%% else_branch
try:
    value = await mcp__kit__add(a=1, b=1)
except Exception:
    print("failed")
else:
    print("fine", value)

#%% suppressed
import contextlib
with contextlib.suppress(Exception):
    await mcp__kit__fail()
print("went on")

#%% warning
import warnings
warnings.warn("careful")
print("went on")

#%% system_exit_zero
#% better: sys.exit ends the program and not the server
import sys
print("before")
sys.exit(0)

#%% system_exit_with_a_message
#% better: sys.exit ends the program and not the server
import sys
sys.exit("no data")

#%% system_exit_caught
import sys
try:
    sys.exit(1)
except SystemExit as error:
    print("exit", error.code)

#%% quit_builtin
#% better: quit ends the program and not the server
print("before")
quit()

#%% keyboard_interrupt
#% better: it ends the program and not the server
raise KeyboardInterrupt

#%% error_in_a_task
import asyncio
async def broken():
    await mcp__kit__fail(message="in a task")
task = asyncio.create_task(broken())
try:
    await task
except Exception as error:
    print(error)

#%% error_in_a_nested_function
async def outer():
    async def inner():
        return {}["absent"]
    return await inner()
await outer()
