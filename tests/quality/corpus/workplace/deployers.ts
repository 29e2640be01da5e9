const { deployments } = await mcp__observability__list_deployments({ from: "2026-03-01T00:00:00Z", to: "2026-03-31T23:59:59Z" });
console.log([...new Set(deployments.map((d: any) => d.by))].sort().join("\n"));
