import json
path = "FOLDER/settings.json"
settings = json.loads((await mcp__files__read_text_file(path=path))["content"])
settings["features"]["limit"] = 50
await mcp__files__write_file(path=path, content=json.dumps(settings))
after = json.loads((await mcp__files__read_text_file(path=path))["content"])
print(json.dumps(after, sort_keys=True, separators=(",", ":")))
