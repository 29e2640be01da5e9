await mcp__memory__delete_observations({ deletions: [{ entityName: "Cirrus", observations: ["is late"] }] });
const graph = await mcp__memory__read_graph();
console.log(graph.entities.some((e) => e.observations.includes("is late")) ? "late" : "on time");
