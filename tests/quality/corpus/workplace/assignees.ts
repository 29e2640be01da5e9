const high = new Map<string, number>();
let cursor: string | undefined = undefined;
while (true) {
  const page: any = await mcp__helpdesk__list_tickets({ cursor });
  for (const t of page.tickets) {
    if (t.priority === "high") high.set(t.assignee, (high.get(t.assignee) || 0) + 1);
  }
  cursor = page.next_cursor;
  if (!cursor) break;
}
console.log([...high].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))[0][0]);
