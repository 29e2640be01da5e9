import asyncio
from functools import lru_cache, cache, singledispatch, cmp_to_key

@lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

print(fib(90), fib.cache_info().misses)

@cache
def ways(amount, coins=(1, 2, 5, 10, 20, 50)):
    if amount == 0:
        return 1
    if amount < 0 or not coins:
        return 0
    return ways(amount - coins[-1], coins) + ways(amount, coins[:-1])

print(ways(100))

# Org chart by recursion over manager_id
employees = await mcp__fixture__list_employees()
def tree(manager_id, depth=0):
    for e in employees:
        if e["manager_id"] == manager_id:
            print("  " * depth + f"{e['name']} ({e['title']})")
            tree(e["id"], depth + 1)
tree(None)

# A cache of tasks so that every budget is fetched only once
fetched = []
tasks = {}
async def fetch(level):
    fetched.append(level)
    return await mcp__fixture__get_budget(level)
def budget(level):
    if level not in tasks:
        tasks[level] = asyncio.ensure_future(fetch(level))
    return tasks[level]

budgets = await asyncio.gather(*(budget(e["level"]) for e in employees))
print(len(budgets), sorted(fetched), sum(b["per_quarter"] for b in budgets))

@singledispatch
def show(x): return f"object {x}"
@show.register
def _(x: int): return f"int {x}"
@show.register(list)
def _(x): return "list of " + ", ".join(show(i) for i in x)
print(show([1, "a", [2]]))
print(sorted(["10", "9", "1"], key=cmp_to_key(lambda a, b: int(a) - int(b))))

def hanoi(n, a="A", b="B", c="C"):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
print(len(hanoi(8)), hanoi(2))

def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
print(depth(400))
