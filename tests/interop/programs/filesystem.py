# servers: files
# Files and folders through the filesystem server: written, edited, listed, searched, moved.
import asyncio, base64, json

print(*sorted(name for name in dir(tools) if name.startswith("mcp__files__")), sep="\n")

root = (await mcp__files__list_allowed_directories())["content"].splitlines()[1]

def show(answer):
    print(answer["content"].replace(root, "<root>").rstrip())

show(await mcp__files__create_directory(path=f"{root}/notes/deep"))
await asyncio.gather(*(
    mcp__files__write_file(path=f"{root}/notes/{n}.txt", content=f"line {n}\nüber {n}\n")
    for n in range(5)
))
show(await mcp__files__write_file(path=f"{root}/notes/deep/poem.md", content="# Poem\n\nroses\n"))
show(await mcp__files__read_text_file(path=f"{root}/notes/3.txt"))
show(await mcp__files__read_text_file(path=f"{root}/notes/3.txt", head=1))
show(await mcp__files__read_multiple_files(paths=[f"{root}/notes/1.txt", f"{root}/notes/none.txt"]))
show(await mcp__files__edit_file(
    path=f"{root}/notes/deep/poem.md", edits=[{"oldText": "roses", "newText": "violets"}]
))
show(await mcp__files__move_file(source=f"{root}/notes/4.txt", destination=f"{root}/notes/deep/four.txt"))
print(sorted((await mcp__files__list_directory(path=f"{root}/notes"))["content"].splitlines()))
show(await mcp__files__search_files(path=root, pattern="**/*.md"))
tree = json.loads((await mcp__files__directory_tree(path=f"{root}/notes/deep"))["content"])
print(sorted((entry["type"], entry["name"]) for entry in tree))
media = await mcp__files__read_media_file(path=f"{root}/notes/1.txt")
print(isinstance(media, dict), json.dumps(media).replace(root, "<root>"))
info = (await mcp__files__get_file_info(path=f"{root}/notes/2.txt"))["content"]
print([line for line in info.splitlines() if line.startswith(("size", "isFile"))])

for failing in (
    mcp__files__read_text_file(path="/etc/passwd"),
    mcp__files__read_text_file(path=f"{root}/absent.txt"),
    mcp__files__edit_file(path=f"{root}/notes/1.txt", edits=[{"oldText": "absent", "newText": ""}]),
):
    try:
        print("not to be seen:", await failing)
    except ToolError as error:
        print(str(error).replace(root, "<root>"))
