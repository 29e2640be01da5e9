let sum = 0, count = 0;
let cursor: string | null = null;
for (;;) {
  const page: any = await mcp__helpdesk__list_tickets(cursor ? { cursor } : {});
  for (const t of page.tickets) { sum += t.first_reply_minutes; count++; }
  if (!page.next_cursor) break;
  cursor = page.next_cursor;
}
console.log(Math.round(sum / count));
