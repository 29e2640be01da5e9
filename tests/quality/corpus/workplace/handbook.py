found = await mcp__handbook__find_pages(words="vacation")
print(len(found["pages"]))
