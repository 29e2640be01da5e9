# servers: git, files, memory, time
# Who did what: a repository's history becomes a report in a file and a graph in the memory.
import asyncio, re
from collections import defaultdict

history = await mcp__git__git_log(repo_path="REPOSITORY", max_count=100)
commits = [
    {key.lower(): value for key, value in re.findall(r"^(Commit|Author|Date|Message): (.*)$", entry, re.M)}
    for entry in history.split("\n\n") if "Commit: " in entry
]
by_author = defaultdict(list)
for commit in reversed(commits):
    by_author[commit["author"]].append(commit)

async def in_tokyo(commit):
    clock = commit["date"][11:16]
    moment = await mcp__time__convert_time(source_timezone="UTC", time=clock, target_timezone="Asia/Tokyo")
    return moment["target"]["datetime"][11:16]

times = dict(zip(
    (commit["commit"] for commit in commits),
    await asyncio.gather(*(in_tokyo(commit) for commit in commits)),
))

lines = ["# Report", ""]
for author, own in sorted(by_author.items()):
    lines.append(f"## {author}: {len(own)}")
    lines += [f"- {times[commit['commit']]} {commit['message']}" for commit in own]
report = "\n".join(lines) + "\n"

root = (await mcp__files__list_allowed_directories())["content"].splitlines()[1]
await asyncio.gather(
    mcp__files__write_file(path=f"{root}/report.md", content=report),
    mcp__memory__create_entities(entities=[
        {"name": author, "entityType": "author", "observations": [commit["message"] for commit in own]}
        for author, own in sorted(by_author.items())
    ] + [{"name": "report.md", "entityType": "file", "observations": []}]),
)
await mcp__memory__create_relations(relations=[
    {"from": author, "to": "report.md", "relationType": "appears in"} for author in sorted(by_author)
])

written = (await mcp__files__read_text_file(path=f"{root}/report.md"))["content"]
print(written == report, written, sep="\n")
graph = await mcp__memory__read_graph()
for entity in graph["entities"]:
    print(entity["entityType"], entity["name"], entity["observations"])
for relation in graph["relations"]:
    print(relation["from"], relation["relationType"], relation["to"])
