import json
from collections import Counter
data = await mcp__files__read_text_file(path="FOLDER/employees.json")
employees = json.loads(data["content"])
skills = Counter(skill for employee in employees for skill in employee["skills"])
for skill, count in sorted(skills.items(), key=lambda x: (-x[1], x[0])):
    print(skill, count)
