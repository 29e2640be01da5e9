import asyncio

team = (await mcp__people__list_team(department="Engineering"))["members"]
expenses = await asyncio.gather(
    *(mcp__people__get_expenses(employee_id=m["employee_id"], quarter="2026-Q1") for m in team)
)
levels = sorted({m["level"] for m in team})
budgets = await asyncio.gather(*(mcp__people__get_budget(level=level) for level in levels))
limits = {budget["level"]: budget["limits"] for budget in budgets}

total, excesses = 0, []
for member, filed in zip(team, expenses):
    for category in ["travel", "meals", "lodging"]:
        spent = sum(
            line["cents"] for line in filed["lines"]
            if line["category"] == category and line["status"] != "rejected"
        )
        total += spent
        excess = spent - limits[member["level"]][category]
        if excess > 0:
            excesses.append((-excess, f"{member['name']}, {category}"))
for cents, whose in sorted(excesses)[:5]:
    print(f"{whose}: {-cents / 100:.2f} EUR over")
print(f"{len(excesses)} excesses, {total / 100:.2f} EUR spent in all")
