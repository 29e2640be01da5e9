for (const zone of ["America/New_York", "Asia/Kolkata", "Australia/Sydney"]) {
  const { target } = await mcp__time__convert_time({ source_timezone: "Europe/London", time: "17:00", target_timezone: zone });
  console.log(`${zone} ${target.datetime.substring(11, 16)}`);
}
