result = await mcp__office__next_departures(stop="Central Station", after="08:00", limit=3)
for d in result["departures"]:
    print(f"{d['line']} {d['time']}+{d['delay_minutes']}")
