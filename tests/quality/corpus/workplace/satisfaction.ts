const scores: number[] = [];
let cursor: string | undefined;
do {
  const page: any = await mcp__helpdesk__list_tickets({ cursor });
  for (const t of page.tickets) if (t.satisfaction !== null) scores.push(t.satisfaction);
  cursor = page.next_cursor;
} while (cursor);
console.log((scores.reduce((a, b) => a + b, 0) / scores.length).toFixed(2));
