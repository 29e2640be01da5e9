from collections import Counter
labels = Counter()
cursor = None
while True:
    page = await mcp__contacts__list_contacts(limit=50, cursor=cursor)
    for contact in page["contacts"]:
        labels.update(contact["labels"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
for label, n in sorted(labels.items(), key=lambda item: (-item[1], item[0])):
    print(label, n)
