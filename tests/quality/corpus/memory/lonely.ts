const { entities } = await mcp__memory__read_graph();
console.log(entities.filter((e) => e.observations.length === 0).map((e) => e.name).sort().join("\n"));
