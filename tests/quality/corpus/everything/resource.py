result = await mcp__everything__get_resource_reference(resourceType="Text", resourceId=2)
for part in result:
    if part.get("type") == "resource" and part["resource"]["uri"].endswith("2"):
        print("yes")
