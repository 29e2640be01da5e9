from collections import defaultdict
answer = await mcp__analytics__query_metric({"metric": "revenue_cents", "from": "2026-03-01", "to": "2026-03-03", "group_by": "country"})
revenue = defaultdict(int)
for row in answer["rows"]:
    revenue[row["country"]] += row["value"]
for country in sorted(revenue):
    print(f"{country} {revenue[country] / 100:.2f}")
