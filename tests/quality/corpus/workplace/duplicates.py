from collections import Counter
emails, cursor = Counter(), None
while True:
    page = await mcp__contacts__list_contacts(limit=50, cursor=cursor)
    emails.update(c["email"].lower() for c in page["contacts"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
print(sum(1 for n in emails.values() if n > 1))
