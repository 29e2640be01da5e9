from collections import Counter
codes, cursor = Counter(), None
while True:
    page = await mcp__contacts__list_contacts(limit=50, cursor=cursor)
    codes.update(c["phone"].split(" ")[0] for c in page["contacts"])
    cursor = page.get("next_cursor")
    if cursor is None:
        break
for code in sorted(codes):
    print(code, codes[code])
