const graph = await mcp__memory__read_graph();
const names = graph.entities.filter((e) => e.entityType === "person" && e.observations.includes("lives in Tallinn")).map((e) => e.name);
console.log(names.sort().join("\n"));
