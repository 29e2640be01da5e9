summer = []
for zone in ["Europe/Paris", "America/Sao_Paulo", "Australia/Melbourne"]:
    if (await mcp__time__get_current_time(timezone=zone))["is_dst"]:
        summer.append(zone)
print("\n".join(summer) or "none")
