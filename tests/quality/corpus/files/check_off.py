path = "FOLDER/notes/2026-01-plan.md"
await mcp__files__edit_file(path=path, edits=[{"oldText": "- [ ] move office", "newText": "- [x] move office"}])
content = (await mcp__files__read_text_file(path=path))["content"]
print("\n".join(line for line in content.splitlines() if line.startswith("- [")))
