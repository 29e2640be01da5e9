import asyncio
members = (await mcp__people__list_team(department="Engineering"))["members"]

async def travel(member):
    expenses = await mcp__people__get_expenses(employee_id=member["employee_id"], quarter="2026-Q1", category="travel")
    return sum(line["cents"] for line in expenses["lines"] if line["status"] == "approved" and line["category"] == "travel")

spent = await asyncio.gather(*(travel(m) for m in members))
name, cents = min(zip((m["name"] for m in members), spent), key=lambda x: (-x[1], x[0]))
print(name, cents)
