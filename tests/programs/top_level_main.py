"""The other common shape: an async main() awaited at the top level."""
import sys
import asyncio
from collections import Counter

async def main(quarter: str = "Q2") -> int:
    employees = await mcp__fixture__list_employees(department="Engineering")
    categories = Counter()
    async def add(employee):
        for x in await mcp__fixture__get_expenses(employee_id=employee["id"], quarter=quarter):
            categories[x["category"]] += x["amount"]
    await asyncio.gather(*[add(e) for e in employees])
    for category, amount in sorted(categories.items()):
        print(f"{category:.<15}{amount:.>12,.2f}")
    print("total".ljust(15, "."), f"{categories.total():,.2f}", sep="")
    return len(categories)

code = await main()
print("categories:", code)
print("no newline", end="")
print(" ... continued", flush=True)
sys.stdout.write("written directly\n")
print("a", "b", sep="", end="!\n", file=sys.stdout)
print()
print("last line without newline", end="")
