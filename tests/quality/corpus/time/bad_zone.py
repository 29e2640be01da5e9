try:
    now = await mcp__time__get_current_time(timezone="Mars/Olympus")
    print(now["datetime"][11:13])
except ToolError:
    print("unknown zone")
