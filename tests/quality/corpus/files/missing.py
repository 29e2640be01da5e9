try:
    print((await mcp__files__read_text_file(path="FOLDER/secrets.txt"))["content"])
except ToolError:
    print("missing")
