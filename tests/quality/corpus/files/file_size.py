import re
info = (await mcp__files__get_file_info(path="FOLDER/orders.csv"))["content"]
print(re.search(r"size: (\d+)", info).group(1))
