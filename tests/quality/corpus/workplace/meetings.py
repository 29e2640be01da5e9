calendar = await mcp__calendar__list_events({"person": "ana@acme.example", "from": "2026-03-16", "to": "2026-03-20"})
print(sum(1 for event in calendar["events"] if event["response"] != "declined"))
