from collections import Counter
from datetime import datetime
weeks = Counter()
cursor = None
while True:
    page = await mcp__helpdesk__list_tickets(limit=25, cursor=cursor)
    for ticket in page["tickets"]:
        weeks[datetime.fromisoformat(ticket["created_at"]).isocalendar().week] += 1
    cursor = page.get("next_cursor")
    if not cursor:
        break
for week in sorted(weeks):
    print(week, weeks[week])
