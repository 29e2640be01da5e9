let failed = 0, total = 0, cursor: string | undefined;
do {
  const page: any = await mcp__ci__list_workflow_runs({ repo: "acme/shop", limit: 100, cursor });
  total += page.workflow_runs.length;
  failed += page.workflow_runs.filter((r: any) => r.conclusion === "failure").length;
  cursor = page.next_cursor;
} while (cursor);
console.log(`${failed}/${total}`);
