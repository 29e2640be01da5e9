const result = await mcp__observability__list_deployments({ from: "2026-03-01T00:00:00Z", to: "2026-03-31T23:59:59Z", service: "cart" });
const last = result.deployments.sort((a: any, b: any) => a.time.localeCompare(b.time)).at(-1)!;
console.log(last.version);
