const { relations } = await mcp__memory__read_graph();
relations
  .filter((r) => r.to === "Atlas" && ["leads", "works_on"].includes(r.relationType))
  .sort((a, b) => a.from.localeCompare(b.from))
  .forEach((r) => console.log(`${r.from} (${r.relationType})`));
