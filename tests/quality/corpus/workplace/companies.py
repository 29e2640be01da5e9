companies = {}
page = {"next_cursor": None}
while True:
    page = await mcp__contacts__list_contacts(cursor=page["next_cursor"])
    for contact in page["contacts"]:
        companies[contact["company"]] = companies.get(contact["company"], 0) + 1
    if not page.get("next_cursor"):
        break
company = min(companies, key=lambda c: (-companies[c], c))
print(company, companies[company])
