const customers = JSON.parse((await mcp__sqlite__read_query({ query: "SELECT email FROM customers" })).replaceAll("'", '"'));
const counts = new Map<string, number>();
for (const { email } of customers) {
  const domain = email.split("@")[1];
  counts.set(domain, (counts.get(domain) ?? 0) + 1);
}
for (const [domain, n] of [...counts].sort()) console.log(`${domain}=${n}`);
