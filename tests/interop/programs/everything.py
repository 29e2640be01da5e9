# servers: everything
# Every kind of content that a tool can answer with, progress, and giving up on a call.
import asyncio, base64, gzip, hashlib

print(*sorted(name for name in dir(tools) if name.startswith("mcp__everything__")), sep="\n")

print(await mcp__everything__echo(message="grüße, 世界 🦀 \"quoted\"\nsecond line"))
print(await mcp__everything__get_sum(a=2, b=40.5))
print(await mcp__everything__get_structured_content(location="Chicago"))

def texts(blocks):
    return [block["text"] if block["type"] == "text" else block for block in blocks]

whole = await mcp__everything__get_tiny_image()
text, image, farewell = texts(whole.content)
assert whole == f"{text}\n{farewell}"
pixels = base64.b64decode(image.pop("data"))
print(text, image, pixels[:8], len(pixels), hashlib.sha256(pixels).hexdigest(), farewell)

print(await mcp__everything__get_annotated_message(messageType="debug"))
whole = await mcp__everything__get_annotated_message(messageType="error", includeImage=True)
text, image = texts(whole.content)
assert whole == text
print(text, image["mimeType"], image["annotations"], base64.b64decode(image["data"]) == pixels)

for block in texts((await mcp__everything__get_resource_links(count=2)).content):
    print(block)

whole = await mcp__everything__get_resource_reference(resourceType="Blob", resourceId=3)
intro, block, outro = texts(whole.content)
resource = block["resource"]
content = base64.b64decode(resource["blob"]).decode()
print(intro, block["type"], resource["uri"], resource["mimeType"], content.split(" created")[0], outro)

data = "data:text/plain;base64," + base64.b64encode("héllo".encode()).decode()
packed = await mcp__everything__gzip_file_as_resource(
    name="hello.txt.gz", data=data, outputType="resource"
)
print(packed["resource"]["uri"], gzip.decompress(base64.b64decode(packed["resource"]["blob"])).decode())

print(await mcp__everything__trigger_long_running_operation(duration=0.3, steps=3))
parallel = [mcp__everything__trigger_long_running_operation(duration=n / 10, steps=1) for n in (3, 1, 2)]
print(*await asyncio.gather(*parallel), sep="\n")

try:
    await asyncio.wait_for(mcp__everything__trigger_long_running_operation(duration=600, steps=1), 0.2)
except TimeoutError:
    print("gave up;", await mcp__everything__echo(message="still there"))

environment = await mcp__everything__get_env()
print(environment["PASSED"], "ONECALL_INTEROP_NPM" in environment)

for failing in (
    mcp__everything__get_sum(a="two", b=1),
    mcp__everything__get_resource_reference(resourceType="Text", resourceId=0),
    mcp__everything__get_resource_links(count=99),
    mcp__everything__simulate_research_query(topic="crabs"),
):
    try:
        print("not to be seen:", await failing)
    except ToolError as error:
        print(error)
