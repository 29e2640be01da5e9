# servers: time
# Time zones; only what does not depend on the day.
import datetime

print(*sorted(name for name in dir(tools) if name.startswith("mcp__time__")), sep="\n")

for source, clock, target in [
    ("Asia/Tokyo", "12:30", "Asia/Kolkata"),
    ("Asia/Tokyo", "01:00", "America/Phoenix"),
    ("UTC", "23:59", "Asia/Kathmandu"),
]:
    moment = await mcp__time__convert_time(source_timezone=source, time=clock, target_timezone=target)
    print(source, clock, target, moment["target"]["datetime"][11:], moment["time_difference"])

now = await mcp__time__get_current_time(timezone="Asia/Tokyo")
moment = datetime.datetime.fromisoformat(now["datetime"])
print(now["timezone"], now["is_dst"], moment.utcoffset(), now["day_of_week"] == f"{moment:%A}")

for failing in (
    mcp__time__get_current_time(timezone="Mars/Olympus"),
    mcp__time__convert_time(source_timezone="UTC", time="25:99", target_timezone="UTC"),
):
    try:
        print("not to be seen:", await failing)
    except ToolError as error:
        print(error)
