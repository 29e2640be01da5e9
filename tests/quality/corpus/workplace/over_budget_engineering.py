team = await mcp__people__list_team(department="Engineering")
budgets = {}
over = []
for member in team["members"]:
    level = member["level"]
    if level not in budgets:
        budgets[level] = (await mcp__people__get_budget(level=level))["limits"]
    expenses = await mcp__people__get_expenses(employee_id=member["employee_id"], quarter="2026-Q1")
    spent = sum(l["cents"] for l in expenses["lines"] if l["category"] == "travel" and l["status"] == "approved")
    limit = budgets[level].get("travel")
    if limit is not None and spent > limit:
        over.append(member["name"])
print("\n".join(sorted(over)) or "nobody")
