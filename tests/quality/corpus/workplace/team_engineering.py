from collections import Counter
team = await mcp__people__list_team(department="Engineering")
levels = Counter(member["level"] for member in team["members"])
for level, n in sorted(levels.items()):
    print(level, n)
