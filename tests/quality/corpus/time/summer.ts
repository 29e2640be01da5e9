const zones = ["Europe/Paris", "America/Sao_Paulo", "Australia/Melbourne"];
const times = await Promise.all(zones.map((timezone) => mcp__time__get_current_time({ timezone })));
const summer = zones.filter((_, i) => times[i].is_dst);
console.log(summer.length ? summer.join("\n") : "none");
