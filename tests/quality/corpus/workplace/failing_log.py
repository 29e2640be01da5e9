cursor = None
failed = None
while failed is None:
    page = await mcp__ci__list_workflow_runs(repo="acme/shop", limit=100, cursor=cursor)
    failed = next((run for run in page["workflow_runs"] if run["conclusion"] == "failure"), None)
    cursor = page.get("next_cursor")
    if not cursor:
        break
log = await mcp__ci__get_job_log(repo="acme/shop", job_id=failed["jobs"][0]["id"])
print(len(log.splitlines()))
