sheet = await mcp__sheets__read_range(spreadsheet_id="1fAiR2026leads", range="Leads!A1:J500")
print(sheet["values"][:2])
print(await mcp__crm__find_contact(email=sheet["values"][1][2]))
