await mcp__everything__trigger_long_running_operation({ duration: 1, steps: 2 });
console.log("done");
