const now = await mcp__time__get_current_time({ timezone: "UTC" });
console.log(now.datetime.split("T")[0]);
