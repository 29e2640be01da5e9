from datetime import datetime, timedelta
result = await mcp__calendar__list_events({"person": "ana@acme.example", "from": "2026-03-16", "to": "2026-03-20"})
total = timedelta()
for event in result["events"]:
    if event["response"] == "accepted":
        total += datetime.fromisoformat(event["end"]) - datetime.fromisoformat(event["start"])
print(f"{total.total_seconds() / 3600:.2f}")
