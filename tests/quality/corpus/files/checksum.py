import hashlib
content = (await mcp__files__read_text_file(path="FOLDER/products.csv"))["content"]
print(hashlib.sha256(content.encode("utf-8")).hexdigest())
