tree = await mcp__files__directory_tree(path="FOLDER/notes")
import json
for entry in sorted(json.loads(tree["content"]), key=lambda e: e["name"]):
    head = await mcp__files__read_text_file(path="FOLDER/notes/" + entry["name"], head=1)
    print(head["content"].lstrip("# ").strip())
