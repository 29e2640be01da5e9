import asyncio

async def sales_total(region):
    rows = await mcp__fixture__query_sales(region=region)
    return round(sum(r["revenue"] for r in rows), 2)

async with asyncio.TaskGroup() as tg:
    tasks = {region: tg.create_task(sales_total(region)) for region in ["North", "South", "East", "West"]}

for region, task in tasks.items():
    print(region, f"{task.result():,.2f}")

# A failure inside of a group comes out as an exception group
try:
    async with asyncio.TaskGroup() as tg:
        tg.create_task(sales_total("North"))
        tg.create_task(mcp__fixture__fail(message="unknown region 'Nowhere'"))
except* ToolError as group:
    for error in group.exceptions:
        print("failed:", error)

try:
    raise ExceptionGroup("many", [ValueError("a"), TypeError("b"), ValueError("c")])
except* ValueError as eg:
    print("values:", [str(e) for e in eg.exceptions])
except* TypeError as eg:
    print("types:", [str(e) for e in eg.exceptions])
