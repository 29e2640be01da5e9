from collections import Counter
areas, cursor = Counter(), None
while True:
    page = await mcp__helpdesk__list_tickets(limit=25, cursor=cursor)
    areas.update(ticket["area"] for ticket in page["tickets"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
for area, n in sorted(areas.items(), key=lambda item: (-item[1], item[0])):
    print(area, n)
