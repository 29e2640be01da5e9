const seen = new Map<string, number>();
for (let cursor: string | undefined; ; ) {
  const page: any = await mcp__contacts__list_contacts({ limit: 50, cursor });
  for (const c of page.contacts) {
    const email = c.email.toLowerCase();
    seen.set(email, (seen.get(email) ?? 0) + 1);
  }
  if (!page.next_cursor) break;
  cursor = page.next_cursor;
}
console.log([...seen.values()].filter((n) => n > 1).length);
