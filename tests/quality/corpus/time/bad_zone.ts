try {
  const now = await mcp__time__get_current_time({ timezone: "Mars/Olympus" });
  console.log(now.datetime.slice(11, 13));
} catch {
  console.log("unknown zone");
}
