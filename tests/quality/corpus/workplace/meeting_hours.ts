const { events } = await mcp__calendar__list_events({ person: "ana@acme.example", from: "2026-03-16", to: "2026-03-20" });
let ms = 0;
for (const e of events) if (e.response === "accepted") ms += Date.parse(e.end) - Date.parse(e.start);
console.log((ms / 3_600_000).toFixed(2));
