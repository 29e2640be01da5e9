# What the different shapes of answers look like to a program
import base64

print(await mcp__fixture__structured())
print(await mcp__fixture__wrapped_list())
print(await mcp__fixture__nothing())
print(await mcp__fixture__add(a=2, b=3), await mcp__fixture__add(0.5, 0.25))

big = await mcp__fixture__bigint()
print(big["n"] * 2, big["f"], type(big["n"]).__name__)

image = await mcp__fixture__image()
data = base64.b64decode(image["data"])
print(image["type"], image["mimeType"], data[:8], len(data))
print("size:", int.from_bytes(data[16:20], "big"), "x", int.from_bytes(data[20:24], "big"))

settings = await mcp__fixture__read_text(path="/config/settings.json")
print(type(settings).__name__, settings["limits"]["retry"], settings["owner"])
text = await mcp__fixture__read_text(path="/docs/poem.txt")
print(type(text).__name__, len(text), text.count("\n"))
blob = await mcp__fixture__big(bytes=100_000)
print(len(blob), set(blob))
rows = await mcp__fixture__rows(count=3)
print(*rows, sep="\n")
print(callable(mcp__fixture__add))
