import heapq
tickets, cursor = [], None
while True:
    page = await mcp__helpdesk__list_tickets(cursor=cursor)
    tickets.extend(page["tickets"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
solved = [t for t in tickets if t["solved_after_minutes"] is not None]
for ticket in heapq.nlargest(5, solved, key=lambda t: t["solved_after_minutes"]):
    print(ticket["id"])
