const labels: Record<string, number> = {};
let cursor: string | undefined;
do {
  const page: any = await mcp__contacts__list_contacts({ limit: 50, cursor });
  for (const contact of page.contacts) for (const label of contact.labels) labels[label] = (labels[label] ?? 0) + 1;
  cursor = page.next_cursor;
} while (cursor);
for (const [label, n] of Object.entries(labels).sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]))) console.log(label, n);
