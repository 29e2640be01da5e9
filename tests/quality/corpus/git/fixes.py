import re
log = await mcp__git__git_log(repo_path="REPOSITORY", max_count=50)
messages = re.findall(r"^Message: (.*)$", log, re.MULTILINE)
for message in reversed(messages):
    if message.startswith("Fix"):
        print(message)
