shift = await mcp__team__who_is_on_call(team="platform", at="2026-03-18T12:00:00Z")
print(f"{shift['primary']}, {shift['backup']}")
