import asyncio, re
from collections import defaultdict

found = await mcp__ci__list_workflow_runs(repo="acme/shop", workflow="ci.yml", status="failure", limit=100)
runs = found["workflow_runs"]
logs = await asyncio.gather(
    *(mcp__ci__get_job_log(repo="acme/shop", job_id=run["jobs"][0]["id"]) for run in runs)
)
branches = defaultdict(list)
for run, log in zip(runs, logs):
    for test in re.findall(r"test (\S+) \.\.\. FAILED", log["log"]):
        branches[test].append(run["branch"])
test, where = max(branches.items(), key=lambda item: len(item[1]))
others = sum(map(len, branches.values())) - len(where)
print(f"{test} fails on {len(set(where))} branches; {others} other failures")
