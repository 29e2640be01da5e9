const counts = new Map<string, number>();
let cursor: string | undefined;
do {
  const page: any = await mcp__ci__list_workflow_runs({ repo: "acme/shop", limit: 50, cursor });
  for (const { actor } of page.workflow_runs) counts.set(actor, (counts.get(actor) ?? 0) + 1);
  cursor = page.next_cursor;
} while (cursor);
[...counts].sort(([a, m], [b, n]) => n - m || a.localeCompare(b)).slice(0, 3).forEach(([a, n]) => console.log(a, n));
