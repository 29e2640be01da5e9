const { absences } = await mcp__team__list_absences({ team: "platform", day: "2026-03-18" });
const lines = absences.map((a) => `${a.name} until ${a.back_on}`).sort();
console.log(lines.length ? lines.join("\n") : "nobody");
