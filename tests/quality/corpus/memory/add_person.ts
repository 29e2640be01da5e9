await mcp__memory__create_entities({ entities: [{ name: "Goran", entityType: "person", observations: ["lives in Riga"] }] });
await mcp__memory__create_relations({ relations: [{ from: "Goran", to: "Borealis", relationType: "works_on" }] });
const graph = await mcp__memory__read_graph();
console.log(graph.relations.filter((r) => r.to === "Borealis").map((r) => r.from).sort().join("\n"));
