import asyncio
from collections import Counter

hour = {"from": "2026-03-18T14:00:00Z", "to": "2026-03-18T15:00:00Z"}

async def errors(service):
    lines, cursor = [], None
    while True:
        page = await mcp__observability__search_logs(service=service, level="error", cursor=cursor, **hour)
        lines += page["lines"]
        cursor = page["next_cursor"]
        if cursor is None:
            return lines

services = ["web", "gateway", "checkout", "cart", "inventory"]
lines = sum(await asyncio.gather(*map(errors, services)), [])
first = {}
for line in lines:
    seen = (line["time"], line["service"])
    first[line["trace_id"]] = min(first.get(line["trace_id"], seen), seen)
origin, count = Counter(service for _, service in first.values()).most_common(1)[0]
began = min(first.values())[0]
found = await mcp__observability__list_deployments(**{**hour, "from": "2026-03-18T11:00:00Z"})
versions = [d["version"] for d in found["deployments"] if d["service"] == origin and d["time"] < began]
suspect = versions[-1] if versions else "none"
print(f"{origin} ({count} of {len(first)} traces), since {began}, after version {suspect}")
