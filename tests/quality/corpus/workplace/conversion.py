import asyncio

async def total(metric):
    result = await mcp__analytics__query_metric({"metric": metric, "from": "2026-03-01", "to": "2026-03-07"})
    return sum(row["value"] for row in result["rows"])

purchases, visits = await asyncio.gather(total("purchases"), total("visits"))
print(f"{100 * purchases / visits:.2f}")
