found = await mcp__ci__list_workflow_runs(repo="acme/shop", workflow="ci.yml", status="failure", limit=1)
print(found)
log = (await mcp__ci__get_job_log(repo="acme/shop", job_id=found["workflow_runs"][0]["jobs"][0]["id"]))["log"]
print(len(log), *[line for line in log.splitlines() if "FAILED" in line], sep="\n")
