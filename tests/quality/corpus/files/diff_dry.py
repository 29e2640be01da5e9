path = "FOLDER/settings.json"
before = (await mcp__files__read_text_file(path=path))["content"]
await mcp__files__edit_file(path=path, edits=[{"oldText": '"port": 8443', "newText": '"port": 9000'}], dryRun=True)
after = (await mcp__files__read_text_file(path=path))["content"]
print("unchanged" if before == after else "changed")
