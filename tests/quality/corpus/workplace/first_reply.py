minutes = []
cursor = None
while True:
    arguments = {"limit": 25}
    if cursor:
        arguments["cursor"] = cursor
    page = await mcp__helpdesk__list_tickets(**arguments)
    minutes += [t["first_reply_minutes"] for t in page["tickets"]]
    cursor = page.get("next_cursor")
    if cursor is None:
        break
print(round(sum(minutes) / len(minutes)))
