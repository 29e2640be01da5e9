import asyncio

sheet = await mcp__sheets__read_range(spreadsheet_id="1fAiR2026leads", range="Leads!A1:J500")
header, *rows = sheet["values"]
leads = [dict(zip(header, row)) for row in rows]
found = await asyncio.gather(*(mcp__crm__find_contact(email=lead["Email"]) for lead in leads))

created, updated = [], []
for lead, result in zip(leads, found):
    if not result["contacts"]:
        created.append(lead)
        await mcp__crm__create_contact(
            email=lead["Email"], name=lead["Name"], company=lead["Company"], phone=lead["Phone"],
            country=lead["Country"], stage=lead["Stage"], deal_value=lead["Deal value"],
            owner=lead["Owner"],
        )
        continue
    contact = result["contacts"][0]
    known = contact["properties"]
    if (known["stage"], known["deal_value"]) != (lead["Stage"], lead["Deal value"]):
        updated.append(lead)
        await mcp__crm__update_contact(
            contact_id=contact["id"], stage=lead["Stage"], deal_value=lead["Deal value"]
        )

worth = sum(lead["Deal value"] for lead in created)
unchanged = len(leads) - len(created) - len(updated)
print(f"created {len(created)} (worth {worth} EUR), updated {len(updated)}, unchanged {unchanged}")
