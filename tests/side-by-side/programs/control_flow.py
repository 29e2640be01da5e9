#%% loop_over_calls
for number in range(1, 4):
    print(number, await mcp__kit__add(a=number, b=number))

#%% while_with_cursor
cursor, rows = 0, []
while cursor is not None:
    page = await mcp__kit__order_page(cursor=cursor)
    rows += page["orders"]
    cursor = page["next"]
print(len(rows), sum(row["amount"] for row in rows))

#%% pages_until_empty
page, rows = 1, []
while True:
    batch = await mcp__kit__orders(page=page, size=5)
    if not batch:
        break
    rows.extend(batch)
    page += 1
print(page, len(rows))

#%% condition_on_a_result
if await mcp__kit__is_even(number=4):
    print("even")
else:
    print("odd")

#%% conditional_expression
print("even" if await mcp__kit__is_even(number=3) else "odd")

#%% list_comprehension_with_await
print([await mcp__kit__add(a=n, b=1) for n in range(4)])

#%% dict_comprehension_with_await
print({n: await mcp__kit__is_even(number=n) for n in range(3)})

#%% set_comprehension_with_await
print(sorted({await mcp__kit__add(a=n, b=0) for n in (1, 1, 2)}))

#%% comprehension_with_condition_that_awaits
print([n for n in range(6) if await mcp__kit__is_even(number=n)])

#%% async_generator_expression
values = (await mcp__kit__add(a=n, b=n) for n in range(3))
async for value in values:
    print(value)

#%% sum_by_region
rows = await mcp__kit__orders()
sums = {}
for row in rows:
    sums[row["region"]] = sums.get(row["region"], 0) + row["amount"]
for region in sorted(sums):
    print(f"{region}: {sums[region]:.2f}")

#%% filter_and_sort
rows = await mcp__kit__orders(region="EU")
top = sorted(rows, key=lambda row: -row["amount"])[:3]
for row in top:
    print(row["id"], row["amount"])

#%% join_two_tools
rows = await mcp__kit__orders(size=3)
for row in rows:
    customer = await mcp__kit__customer(id=row["customer"])
    print(row["id"], customer["name"])

#%% walrus_in_loop
attempt = 0
while (total := await mcp__kit__add(a=attempt, b=1)) < 4:
    attempt += 1
print(attempt, total)

#%% match_statement
match await mcp__kit__customer(id=1):
    case {"name": name, "address": {"city": city}}:
        print(name, city)
    case _:
        print("other")

#%% for_else
for n in (1, 3, 5):
    if await mcp__kit__is_even(number=n):
        break
else:
    print("all odd")

#%% early_stop
for n in range(100):
    if await mcp__kit__add(a=n, b=n) > 6:
        print("stopped at", n)
        break

#%% nested_loops
for a in range(2):
    for b in range(2):
        print(a, b, await mcp__kit__add(a=a, b=b))

#%% async_helper_function
async def double(n):
    return await mcp__kit__add(a=n, b=n)

print(await double(4))

#%% helper_with_default_and_keywords
async def total(*numbers, start=0):
    for n in numbers:
        start = await mcp__kit__add(a=start, b=n)
    return start

print(await total(1, 2, 3, start=10))

#%% recursive_async_function
async def factorial_sum(n):
    return 0 if n == 0 else await mcp__kit__add(a=n, b=await factorial_sum(n - 1))

print(await factorial_sum(10))

#%% async_generator_function
async def pages():
    cursor = 0
    while cursor is not None:
        page = await mcp__kit__order_page(cursor=cursor)
        yield len(page["orders"])
        cursor = page["next"]

print([size async for size in pages()])

#%% closure_over_top_level_names
factor = 3
def scaled(n):
    return n * factor
print(scaled(await mcp__kit__add(a=1, b=1)))

#%% lambda_that_calls_a_tool
call = lambda n: mcp__kit__add(a=n, b=n)
print(await call(5))

#%% tool_as_a_value
operation = mcp__kit__add
print(await operation(a=2, b=3))

#%% dispatch_table
table = {"sum": mcp__kit__add, "even": mcp__kit__is_even}
print(await table["sum"](a=1, b=1), await table["even"](number=1))

#%% map_over_tools
for tool, arguments in [(mcp__kit__greet, {"name": "Ada"}), (mcp__kit__add, {"a": 1, "b": 2})]:
    print(await tool(**arguments))

#%% partial_of_a_tool
from functools import partial
hello = partial(mcp__kit__greet, greeting="Hi")
print(await hello(name="Bo"))

#%% await_in_an_f_string
print(f"sum: {await mcp__kit__add(a=20, b=22)}")

#%% chained_calls
print(await mcp__kit__add(a=await mcp__kit__add(a=1, b=2), b=await mcp__kit__add(a=3, b=4)))

#%% try_finally_around_a_call
try:
    print(await mcp__kit__add(a=1, b=1))
finally:
    print("cleaned up")

#%% assert_on_a_result
assert await mcp__kit__add(a=1, b=1) == 2, "arithmetic"
print("ok")

#%% a_thousand_additions_without_calls
print(sum(n * n for n in range(1000)))

#%% thirty_calls_in_a_row
value = 0
for _ in range(30):
    value = await mcp__kit__add(a=value, b=1)
print(value)
