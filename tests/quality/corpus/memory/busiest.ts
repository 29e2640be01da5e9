const graph = await mcp__memory__read_graph();
const people = new Set(graph.entities.filter((e: any) => e.entityType === "person").map((e: any) => e.name));
const counts: Record<string, number> = {};
for (const r of graph.relations) if (people.has(r.from)) counts[r.from] = (counts[r.from] ?? 0) + 1;
console.log(Object.keys(counts).sort((a, b) => counts[b] - counts[a] || a.localeCompare(b))[0]);
