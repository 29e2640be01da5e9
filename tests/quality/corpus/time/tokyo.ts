const result = await mcp__time__convert_time({ source_timezone: "Europe/Berlin", time: "09:30", target_timezone: "Asia/Tokyo" });
console.log(result.target.datetime.slice(11, 16));
