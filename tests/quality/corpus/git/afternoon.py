from datetime import datetime
log = await mcp__git__git_log(repo_path="REPOSITORY", max_count=100)
commits = []
for entry in log.split("Commit: ")[1:]:
    fields = dict(line.split(": ", 1) for line in entry.splitlines()[1:] if ": " in line)
    when = datetime.fromisoformat(fields["Date"])
    if when.hour >= 15:
        commits.append((when, fields["Message"]))
for _, message in sorted(commits):
    print(message)
