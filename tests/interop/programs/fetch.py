# servers: fetch
# Nothing is fetched from anywhere: what the server offers, and how it fails.
print(*sorted(name for name in dir(tools) if name.startswith("mcp__fetch__")), sep="\n")
for url in ("http://127.0.0.1:9/", "not a url"):
    try:
        print("not to be seen:", await mcp__fetch__fetch(url=url))
    except ToolError as error:
        print(error)
