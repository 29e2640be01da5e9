from collections import Counter

async def signups(first, last):
    found = Counter()
    period = {"from": first, "to": last}
    for row in (await mcp__analytics__query_metric(metric="signups", group_by="channel", **period))["rows"]:
        found[row["channel"]] += row["value"]
    return found

before = await signups("2026-01-01", "2026-01-31")
now = await signups("2026-02-01", "2026-02-28")
print(", ".join(f"{name} {100 * (now[name] / before[name] - 1):+.1f}%" for name in sorted(now)))
