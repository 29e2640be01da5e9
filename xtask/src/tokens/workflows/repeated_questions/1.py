from collections import Counter

visits = Counter()
period = {"from": "2026-02-01", "to": "2026-03-14"}
for row in (await mcp__analytics__query_metric(metric="visits", group_by="channel", **period))["rows"]:
    visits[row["channel"]] += row["value"]
channel, count = visits.most_common(1)[0]
print(f"{channel}: {count}")
