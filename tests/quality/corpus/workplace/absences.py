absences = (await mcp__team__list_absences(team="platform", day="2026-03-18"))["absences"]
for absence in sorted(absences, key=lambda a: a["name"]):
    print(f"{absence['name']} until {absence['back_on']}")
if not absences:
    print("nobody")
