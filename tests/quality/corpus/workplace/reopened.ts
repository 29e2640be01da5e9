let reopened = 0;
let cursor: string | undefined;
do {
  const page: any = await mcp__helpdesk__list_tickets({ cursor });
  reopened += page.tickets.filter((t: any) => t.reopened).length;
  cursor = page.next_cursor;
} while (cursor);
console.log(reopened);
