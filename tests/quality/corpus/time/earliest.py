from datetime import datetime
times = {}
for zone in ("Pacific/Auckland", "America/Chicago", "Africa/Nairobi"):
    result = await mcp__time__convert_time(source_timezone="UTC", time="12:00", target_timezone=zone)
    times[zone] = datetime.fromisoformat(result["target"]["datetime"]).time()
print(min(times, key=times.get))
