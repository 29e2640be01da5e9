import re
log = (await mcp__files__read_text_file(path="FOLDER/logs/access.log"))["content"]
statuses = [int(m.group(1)) for m in re.finditer(r" GET \S+ (\d{3}) ", log)]
print(f"{100 * sum(s >= 500 for s in statuses) / len(statuses):.1f}")
