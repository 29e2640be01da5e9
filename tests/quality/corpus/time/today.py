now = await mcp__time__get_current_time(timezone="UTC")
print(now["datetime"].split("T")[0])
