const { relations } = await mcp__memory__read_graph();
relations
  .filter((r: any) => r.relationType === "leads")
  .map((r: any) => `${r.to}: ${r.from}`)
  .sort()
  .forEach((line: string) => console.log(line));
