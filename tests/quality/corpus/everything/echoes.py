import asyncio
answers = await asyncio.gather(*(mcp__everything__echo(message=word) for word in ("red", "green", "blue")))
print("\n".join(answers))
