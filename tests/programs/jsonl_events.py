import json
from collections import defaultdict
from datetime import datetime, timedelta, timezone

text = await mcp__fixture__read_text(path="/data/events.jsonl")
events = [json.loads(line) for line in text.splitlines() if line.strip()]

def parse(ts: str) -> datetime:
    return datetime.fromisoformat(ts)

by_user = defaultdict(list)
for e in events:
    by_user[e["user"]].append(e)

for user, items in sorted(by_user.items()):
    items.sort(key=lambda e: parse(e["ts"]))
    span = parse(items[-1]["ts"]) - parse(items[0]["ts"])
    spent = sum(e.get("amount", 0) for e in items)
    hours = span / timedelta(hours=1)
    print(f"{user}: {len(items):2d} events over {hours:6.2f}h, spent {spent:7.2f}")

errors = [e["detail"] for e in events if e["event"] == "error"]
codes = sorted({d["code"] for d in errors})
print("error codes:", codes)

cutoff = datetime(2025, 6, 4, tzinfo=timezone.utc)
recent = sum(1 for e in events if parse(e["ts"]) >= cutoff)
print(f"{recent} of {len(events)} since {cutoff:%A, %d %B %Y}")
