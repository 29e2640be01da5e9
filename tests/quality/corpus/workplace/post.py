result = await mcp__chat__post_message(channel="#releases", text="Deploy is done")
print("true" if result["ok"] else "false")
