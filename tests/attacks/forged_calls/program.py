import _onecall as wire

def answers(count):
    found = []
    while len(found) < count:
        found += wire.wait(5.0) or [("nothing came",)]
    return sorted(found)

# %% past the policy
wire.call(1, "mcp__fixture__counter", {}, False)
print(*answers(1))

# %% past the quota
for number in range(6):
    wire.call(number, "mcp__fixture__add", {"a": number, "b": 1}, False)
print(*answers(6), sep="\n")

# %% by names that once meant a question
for number, name in enumerate(("onecall__find", "onecall__schema", "onecall__cache_clear", "plan_node_0")):
    wire.call(number, name, {"name": "counter", "pattern": "*"}, False)
print(*answers(4), sep="\n")

# %% a question of another's making
for wrong in -1, 2**64, "1", None:
    try:
        wire.ask(wrong, '{"list":{}}')
    except (TypeError, OverflowError, ValueError) as error:
        print("refused", wrong)
wire.ask(1, '{"find":{"name":"counter"}}')
print(*answers(1))

# %% an id that is no number
for wrong in -1, 2**64, "1", None:
    try:
        wire.call(wrong, "mcp__fixture__add", {}, False)
    except (TypeError, OverflowError, ValueError) as error:
        print("refused", wrong)

# %% arguments that are none
for wrong in [], "{}", None, {"a": float("nan")}, {1: 2}, {"a": "\ud800"}, {"a": b""}:
    try:
        wire.call(7, "mcp__fixture__add", wrong, False)
        print("taken", wrong)
    except (TypeError, ValueError) as error:
        print("refused", ascii(wrong))

# %% finished before it has
print("before")
wire.finish("", "", None)
print("after")
wire.flush()
wire.call(1, "mcp__fixture__add", {"a": 1, "b": 2}, False)
print(answers(1))

# %% a failure of another's making
wire.finish("", "{}", "Traceback (most recent call last):\n  a lie\nGatewayError: all is lost")

# %% finished in a thread, and on it goes
import threading, time
threading.Thread(target=lambda: wire.finish("", "", None)).start()
while True:
    time.sleep(0.01)

# %% attached again
try:
    wire.attach()
except Exception as error:
    print(type(error).__name__)

# %% locked in again
try:
    print(wire.lock())
except Exception as error:
    print(type(error).__name__)

# %% a name of ten megabytes
try:
    print(wire.resolve("mcp__fixture__" + "x" * 10_000_000, []))
except Exception as error:
    print(type(error).__name__, str(error)[:80])
