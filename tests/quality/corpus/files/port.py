import json
settings = json.loads((await mcp__files__read_text_file(path="FOLDER/settings.json"))["content"])
print(f"{settings['server']['host']}:{settings['server']['port']}")
