result = await mcp__everything__get_tiny_image()
for part in result:
    if part["type"] == "image":
        print(part["mimeType"])
