const { deployments } = await mcp__observability__list_deployments({ from: "2026-03-01T00:00:00Z", to: "2026-03-31T23:59:59Z" });
const counts: Record<string, number> = {};
for (const d of deployments) if (d.environment === "production") counts[d.service] = (counts[d.service] ?? 0) + 1;
for (const service of Object.keys(counts).sort()) console.log(service, counts[service]);
