import math
lines = (await mcp__files__read_text_file(path="FOLDER/logs/access.log"))["content"].splitlines()
values = sorted(int(line.rsplit(" ", 1)[1][:-2]) for line in lines)
print(values[math.ceil(len(values) * 0.95) - 1])
