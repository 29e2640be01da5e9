# servers: kubernetes
# A server written in Go, and a cluster that is not there.
print(*sorted(name for name in dir(tools) if name.startswith("mcp__kubernetes__")), sep="\n")
print(await mcp__kubernetes__configuration_view())
print((await mcp__kubernetes__configuration_view(minified=False)).count("name: "))
for failing in (mcp__kubernetes__pods_list(), mcp__kubernetes__pods_get(namespace="here")):
    try:
        print("not to be seen:", await failing)
    except ToolError as error:
        print(error)
