import re
await mcp__files__create_directory(path="FOLDER/archive")
names = re.findall(r"\[FILE\] (\S+)", (await mcp__files__list_directory(path="FOLDER/notes"))["content"])
for name in names:
    if name.startswith(("2026-01", "2026-02")):
        await mcp__files__move_file(source=f"FOLDER/notes/{name}", destination=f"FOLDER/archive/{name}")
moved = re.findall(r"\[FILE\] (\S+)", (await mcp__files__list_directory(path="FOLDER/archive"))["content"])
print(*sorted(moved), sep="\n")
