"""Some models always write a main() and asyncio.run(), even when told that await works."""
import asyncio


async def summarize(region: str) -> dict:
    sales = await mcp__fixture__query_sales(region=region, year=2025)
    best = max(sales, key=lambda s: s["revenue"])
    return {
        "region": region,
        "orders": len(sales),
        "best_customer": best["customer"],
        "best_revenue": best["revenue"],
    }


async def main() -> None:
    summaries = await asyncio.gather(*(summarize(r) for r in ("North", "South")))
    for s in summaries:
        print(f"{s['region']}: {s['orders']} orders, best {s['best_customer']} with {s['best_revenue']:.2f}")


if __name__ == "__main__":
    asyncio.run(main())
