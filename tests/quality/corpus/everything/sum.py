import re
total = 0
for number in [17, 25, 300]:
    answer = await mcp__everything__get_sum(a=total, b=number)
    total = int(re.search(r"is (\d+)", answer).group(1))
print(total)
