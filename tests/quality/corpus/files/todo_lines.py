from pathlib import PurePosixPath
paths = (await mcp__files__search_files(path="FOLDER/notes", pattern="**/*.md"))["content"].split("\n")
for path in sorted(paths):
    text = (await mcp__files__read_text_file(path=path))["content"]
    for line in text.split("\n"):
        if line.startswith("TODO:"):
            print(f"{PurePosixPath(path).name}: {line[5:].strip()}")
