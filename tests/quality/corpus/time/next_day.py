answer = await mcp__time__convert_time(source_timezone="America/Los_Angeles", time="22:00", target_timezone="Asia/Singapore")
print(answer["target"]["day_of_week"])
