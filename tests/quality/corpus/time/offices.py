import asyncio
from datetime import datetime
zones = ["America/New_York", "Asia/Kolkata", "Australia/Sydney"]
answers = await asyncio.gather(*[
    mcp__time__convert_time(source_timezone="Europe/London", time="17:00", target_timezone=zone) for zone in zones
])
for zone, answer in zip(zones, answers):
    print(zone, datetime.fromisoformat(answer["target"]["datetime"]).strftime("%H:%M"))
