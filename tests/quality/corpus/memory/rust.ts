const { entities } = await mcp__memory__search_nodes({ query: "Rust" });
console.log(entities.filter((e) => e.entityType === "project").length);
