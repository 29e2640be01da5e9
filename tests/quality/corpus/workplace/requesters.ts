const emails = new Set<string>();
let cursor: string | undefined;
do {
  const { tickets, next_cursor } = await mcp__helpdesk__list_tickets({ limit: 25, cursor }) as any;
  tickets.forEach((t: any) => emails.add(t.requester.email));
  cursor = next_cursor;
} while (cursor);
console.log(emails.size);
