{{attempt}}
import sys

def frames():
    frame = sys._getframe()
    while frame is not None:
        yield frame
        frame = frame.f_back

ours = [frame for frame in frames() if frame.f_code.co_filename.startswith("<onecall>")]
print("frames of the bootstrap:", sorted({frame.f_code.co_filename for frame in ours}))
found = [value for frame in ours for value in frame.f_locals.values()]
print("sockets in them:", [each for each in found if type(each).__name__ == "socket" and each.fileno() >= 0])

def by_traceback():
    try:
        raise ValueError
    except ValueError as error:
        return error.__traceback__.tb_frame.f_back.f_back.f_globals["__name__"]

print("a traceback leads to", by_traceback())

def zygote_again():
    served = sys.modules["_onecall_zygote"]
    return served.serve()

attempt("serve as a zygote", zygote_again)
print("the control socket:", __import__("os").read(0, 16))
attempt("fork a sibling", lambda: sys.modules["_onecall_zygote"].os.fork())

tools = sys.modules["_onecall_tools"]

async def outcome(call):
    try:
        return await call
    except BaseException as error:
        return f"{type(error).__name__}: {error}"

print(await outcome(mcp__fixture__counter()))
print(await outcome(tools._callable("mcp__fixture__counter", [])()))
print(await outcome(tools._call(tools.next_id(), "mcp__fixture__counter", {}, False)))
print(await outcome(tools._call(tools.next_id(), "mcp__other__tool", {}, False)))
print(await outcome(tools._call(tools.next_id(), "execute_program", {"code": "1"}, False)))
print(await outcome(tools._call(tools.next_id(), "", {}, False)))
print(await outcome(tools._call(tools.next_id(), "mcp__fixture__add\0", {"a": 1, "b": 2}, False)))
