const { members } = await mcp__people__list_team({ department: "Engineering" });
const levels: Record<string, number> = {};
for (const m of members) levels[m.level] = (levels[m.level] ?? 0) + 1;
Object.keys(levels).sort().forEach((level) => console.log(level, levels[level]));
