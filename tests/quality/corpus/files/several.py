import asyncio
names = ["2026-01-plan.md", "2026-02-retro.md", "2026-03-ideas.md"]
results = await asyncio.gather(*[mcp__files__read_text_file(path=f"FOLDER/notes/{name}") for name in names])
print(sum(len(r["content"].split()) for r in results))
