await mcp__memory__delete_entities({ entityNames: ["Cirrus"] });
const graph = await mcp__memory__read_graph();
console.log(graph.entities.length, graph.relations.length);
