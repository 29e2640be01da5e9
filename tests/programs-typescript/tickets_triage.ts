const found = await mcp__fixture__search_tickets({ query: "login" });
const tickets: any[] = Array.isArray(found) ? found : found.tickets ?? [];
console.log("found", tickets.length);
const detailed = await Promise.all(tickets.slice(0, 4).map((t) => mcp__fixture__get_ticket({ ticket_id: t.id, id: t.id }).catch((e: Error) => ({ error: e.name }))));
for (const ticket of detailed) console.log(ticket);
const counts = new Map<string, number>();
for (const t of tickets) for (const tag of t.tags ?? []) counts.set(tag, (counts.get(tag) ?? 0) + 1);
console.log(counts);
console.log([...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)));
