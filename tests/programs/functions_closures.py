from collections import deque, OrderedDict, ChainMap, UserDict

def make_counter(start=0, *, step=1):
    value = start
    def increment(times=1):
        nonlocal value
        value += step * times
        return value
    return increment

c = make_counter(10, step=5)
print(c(), c(2), c.__name__, [f(2) for f in [lambda x, n=n: x * n for n in range(3)]])

def call(a, b=2, /, c=3, *args, d, e=5, **kwargs):
    return a, b, c, args, d, e, kwargs
print(call(1, d=4), call(1, 2, 3, 4, 5, d=6, z=7))

def log_calls(prefix):
    def decorate(f):
        async def wrapper(*args, **kwargs):
            shown = ", ".join([*map(repr, args), *(f"{k}={v!r}" for k, v in kwargs.items())])
            result = await f(*args, **kwargs)
            print(f"{prefix} {f.__name__}({shown}) -> {result!r}")
            return result
        return wrapper
    return decorate

@log_calls(">>")
async def total(region, year=2025):
    return sum(s["units"] for s in await mcp__fixture__query_sales(region=region, year=year))

await total("North")
await total("South", year=2024)

window = deque(maxlen=3)
averages = []
for sale in (await mcp__fixture__query_sales(region="North", year=2024))[:6]:
    window.append(sale["units"])
    averages.append(round(sum(window) / len(window), 2))
print(averages, list(window))
window.rotate(1)
window.appendleft(0)
print(window, window[-1])

od = OrderedDict(a=1, b=2, c=3)
od.move_to_end("a")
print(list(od), od.popitem(last=False))
settings = ChainMap({"debug": True}, {"debug": False, "level": 3})
print(settings["debug"], settings["level"], len(settings))

class Lower(UserDict):
    def __setitem__(self, key, value): super().__setitem__(key.lower(), value)
    def __missing__(self, key): return f"<{key}>"
print(Lower(A=1, B=2), Lower()["x"], (lambda *a, **k: (a, k))(1, x=2))
print(sorted(globals().keys() & {"total", "window", "nothing"}), isinstance(c, type(lambda: 0)))
