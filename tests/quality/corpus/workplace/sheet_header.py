sheet = await mcp__sheets__read_range(spreadsheet_id="1fAiR2026leads", range="Leads!A1:J500")
print(",".join(str(cell) for cell in sheet["values"][0]))
