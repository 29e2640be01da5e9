from collections import Counter
high = Counter()
cursor = None
while True:
    page = await mcp__helpdesk__list_tickets(limit=25, cursor=cursor)
    for t in page["tickets"]:
        if t["priority"] == "high":
            high[t["assignee"]] += 1
    if not (cursor := page.get("next_cursor")):
        break
print(sorted(high, key=lambda name: (-high[name], name))[0])
