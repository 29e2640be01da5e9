const { entities } = await mcp__memory__read_graph();
const years = entities.flatMap((e) => e.observations.map((o) => ({ name: e.name, year: Number(/^began in (\d{4})$/.exec(o)?.[1]) }))).filter((x) => !isNaN(x.year));
years.sort((a, b) => b.year - a.year);
console.log(years[0].name, years[0].year);
