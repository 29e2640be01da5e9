status = await mcp__team__get_system_status(team="platform")
problems = [f"{s['name']}: {s['state']}" for s in status["systems"] if s["state"] != "operational"]
print("\n".join(sorted(problems)) or "all fine")
