const { events } = await mcp__calendar__list_events({ person: "ana@acme.example", from: "2026-03-16", to: "2026-03-20" });
console.log(events.filter((e) => e.response !== "declined").length);
