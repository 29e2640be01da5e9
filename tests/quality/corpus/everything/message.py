message = await mcp__everything__get_annotated_message(messageType="error")
print(message)
