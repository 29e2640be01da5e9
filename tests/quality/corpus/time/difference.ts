const { time_difference } = await mcp__time__convert_time({ source_timezone: "UTC", time: "12:00", target_timezone: "Asia/Kathmandu" });
console.log(parseFloat(time_difference));
