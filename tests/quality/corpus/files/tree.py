import json
def walk(entries, prefix=""):
    for entry in entries:
        if entry["type"] == "directory":
            yield f"{prefix}{entry['name']}/"
            yield from walk(entry.get("children", []), f"{prefix}{entry['name']}/")
        else:
            yield prefix + entry["name"]
tree = json.loads((await mcp__files__directory_tree(path="FOLDER"))["content"])
print("\n".join(sorted(walk(tree))))
