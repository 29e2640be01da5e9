DEPTH = 100_000

def outcome(what):
    try:
        return what()
    except BaseException as error:
        return type(error).__name__

def nested(empty, wrap):
    rows = empty
    for _ in range(DEPTH):
        rows = wrap(rows)
    return rows

# %% json lists
import json
print(outcome(lambda: json.loads("[" * DEPTH + "]" * DEPTH)))

# %% json objects
import json
print(outcome(lambda: json.loads('{"x":' * DEPTH + "1" + "}" * DEPTH)))

# %% json written
import json
print(outcome(lambda: json.dumps(nested([], lambda rows: [rows]))))
print(outcome(lambda: json.dumps(nested({}, lambda rows: {"x": rows}))))

# %% json of itself
import json
rows = []
rows.append(rows)
print(outcome(lambda: json.dumps(rows)))
print(outcome(lambda: json.dumps(rows, check_circular=False)))

# %% pickles
import pickle
print(outcome(lambda: type(pickle.loads(b"(l" * DEPTH + b"a" * DEPTH + b"."))))
print(outcome(lambda: len(pickle.dumps(nested([], lambda rows: [rows])))))

# %% pickles that call
import pickle
print(outcome(lambda: pickle.loads(b"cos\nsystem\n(S'touch {{probe}}/pickle'\ntR.")) != 0)
print(outcome(lambda: pickle.loads(b"cposix\nfork\n(tR.")))
print(outcome(lambda: pickle.loads(b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.")))

# %% marshal
import marshal
print(outcome(lambda: marshal.dumps(nested([], lambda rows: [rows]))))
print(outcome(lambda: marshal.loads(b"[\x01\0\0\0" * DEPTH + b"N")))

# %% marshalled code
import marshal, types
def f():
    return 1
code = bytearray(marshal.dumps(f.__code__))
for at in range(0, len(code), 7):
    code[at] ^= 0xFF
print(outcome(lambda: types.FunctionType(marshal.loads(bytes(code)), {})()))

# %% literals
import ast
print(outcome(lambda: ast.literal_eval("[" * DEPTH + "]" * DEPTH)))

# %% printed prettily
import pprint
print(outcome(lambda: pprint.pformat(nested([], lambda rows: [rows]))))

# %% as a tool's argument
for shape in nested([], lambda rows: [rows]), nested({}, lambda rows: {"x": rows}):
    try:
        print(await mcp__fixture__echo(value=shape))
    except ValueError as error:
        print(error)

# %% as a tool's argument that contains itself
rows = {}
rows["me"] = rows
try:
    print(await mcp__fixture__echo(value=rows))
except ValueError as error:
    print(error)

# %% as a tool's answer
text = await mcp__fixture__echo(value="[" * DEPTH + "]" * DEPTH)
print(type(text).__name__, len(text))

# %% as arguments past the writer
import _onecall, os, stat, struct
def is_socket(fd):
    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
wire, *_ = [fd for fd in range(3, 64) if is_socket(fd)]
arguments = b'{"value":' + b"[" * DEPTH + b"]" * DEPTH + b"}"
name = b"mcp__fixture__echo"
payload = struct.pack("<QH", 1, len(name)) + name + arguments
data = struct.pack("<IB", len(payload) + 1, ord("c")) + payload
while data:
    data = data[os.write(wire, data):]
[(number, succeeded, value)] = _onecall.wait(5.0)
print(number, succeeded, str(value)[:100])
