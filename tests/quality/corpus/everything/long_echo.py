answer = await mcp__everything__echo(message="x" * 10_000)
print(answer.count("x"))
