result = await mcp__time__convert_time(source_timezone="Europe/Berlin", time="09:30", target_timezone="Asia/Tokyo")
print(result["target"]["datetime"][11:16])
