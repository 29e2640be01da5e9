const answers = await Promise.all(["red", "green", "blue"].map((message) => mcp__everything__echo({ message })));
console.log(answers.join("\n"));
