from collections import Counter
data = await mcp__analytics__query_metric({"metric": "signups", "from": "2026-03-01", "to": "2026-03-14", "group_by": "channel"})
channels = Counter()
for row in data["rows"]:
    channels[row["channel"]] += row["value"]
name, n = channels.most_common(1)[0]
print(name, n)
