const { departures } = await mcp__office__next_departures({ stop: "Central Station", after: "08:00", limit: 3 });
for (const d of departures) console.log(`${d.line} ${d.time}+${d.delay_minutes}`);
