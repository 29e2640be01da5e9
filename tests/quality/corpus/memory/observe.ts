await mcp__memory__add_observations({ observations: [{ entityName: "Ivo", contents: ["likes chess"] }] });
const { entities: [ivo] } = await mcp__memory__open_nodes({ names: ["Ivo"] });
ivo.observations.forEach((o: string) => console.log(o));
