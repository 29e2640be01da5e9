const { entities } = await mcp__memory__read_graph();
const groups = Object.groupBy(entities, (e: any) => e.entityType);
for (const type of Object.keys(groups).sort()) console.log(type, groups[type]!.length);
