import asyncio
from datetime import datetime, timedelta

names = "amara bruno chiara dmitri elena farid grace hiroshi ingrid".split()
people = [f"{name}@acme.example" for name in names]
calendars = await asyncio.gather(
    *(mcp__calendar__list_events(**{"person": p, "from": "2026-04-06", "to": "2026-04-17"}) for p in people)
)
busy = [
    (datetime.fromisoformat(event["start"]), datetime.fromisoformat(event["end"]))
    for calendar in calendars for event in calendar["events"] if event["response"] != "declined"
]
first = datetime(2026, 4, 6)
hours = (first + timedelta(days=day, hours=hour) for day in range(12) for hour in range(9, 17))
for start in hours:
    end = start + timedelta(hours=1)
    if start.weekday() < 5 and all(to <= start or since >= end for since, to in busy):
        break
else:
    raise SystemExit("no hour is free")
at = start.isoformat(timespec="minutes")
await mcp__calendar__create_event(
    title="Launch review", start=at, end=end.isoformat(timespec="minutes"), attendees=people
)
print(f"Launch review at {at}")
