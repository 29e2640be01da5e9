# Several ways in which a call can fail
try:
    await mcp__fixture__fail(message="disk is full")
except ToolError as e:
    print("caught:", e)

try:
    await mcp__fixture__get_ticket(id="T-999")
except ToolError as e:
    print("caught:", str(e))
else:
    print("should not get here")
finally:
    print("cleanup")

try:
    await mcp__fixture__rpc_error()
except Exception as e:
    print(type(e).__name__, "|", e)

class LookupFailed(RuntimeError):
    def __init__(self, what, cause):
        super().__init__(f"lookup of {what} failed")
        self.what = what

async def lookup(city):
    try:
        return await mcp__fixture__weather(city)
    except ToolError as e:
        raise LookupFailed(city, e) from e

for city in ("Paris", "Mordor"):
    try:
        print(city, (await lookup(city))["conditions"])
    except LookupFailed as e:
        print(e, "/", e.what, "/ cause:", e.__cause__)

print(issubclass(ToolError, Exception), ToolError.__name__)
