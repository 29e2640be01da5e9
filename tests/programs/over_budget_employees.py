"""Find employees who exceeded their quarterly budget (the classic PTC example)."""
import asyncio
import json

QUARTERS = ["Q1", "Q2", "Q3", "Q4"]

employees = await mcp__fixture__list_employees()
levels = sorted({e["level"] for e in employees})
budgets = dict(zip(levels, await asyncio.gather(*[mcp__fixture__get_budget(level=l) for l in levels])))

tasks = [
    mcp__fixture__get_expenses(employee_id=e["id"], quarter=q)
    for e in employees
    for q in QUARTERS
]
results = await asyncio.gather(*tasks)

exceeded = []
for i, employee in enumerate(employees):
    limit = budgets[employee["level"]]["per_quarter"]
    for j, quarter in enumerate(QUARTERS):
        expenses = results[i * len(QUARTERS) + j]
        spent = sum(x["amount"] for x in expenses if x["status"] != "rejected")
        if spent > limit:
            exceeded.append({
                "name": employee["name"],
                "quarter": quarter,
                "spent": round(spent, 2),
                "limit": limit,
                "over": round(spent - limit, 2),
            })

exceeded.sort(key=lambda r: r["over"], reverse=True)
print(f"{len(exceeded)} case(s) over budget out of {len(tasks)} checked")
print(json.dumps(exceeded, indent=2, ensure_ascii=False))
