const counts: Record<string, number> = {};
let cursor: string | undefined;
do {
  const page: any = await mcp__helpdesk__list_tickets({ limit: 25, cursor });
  for (const ticket of page.tickets) counts[ticket.area] = (counts[ticket.area] ?? 0) + 1;
  cursor = page.next_cursor;
} while (cursor);
for (const [area, n] of Object.entries(counts).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))) console.log(area, n);
