# servers: memory
# A knowledge graph: made, read, searched, changed, taken apart.
print(*sorted(name for name in dir(tools) if name.startswith("mcp__memory__")), sep="\n")

people = [("Ada", ["wrote programs", "née Byron"]), ("Charles", ["built engines"]), ("Grace", [])]
print(await mcp__memory__create_entities(entities=[
    {"name": name, "entityType": "person", "observations": facts} for name, facts in people
]))
# What is there already is not made again.
print(await mcp__memory__create_entities(entities=[
    {"name": "Ada", "entityType": "person", "observations": []}
]))
print(await mcp__memory__create_relations(relations=[
    {"from": "Ada", "to": "Charles", "relationType": "worked with"}
]))
print(await mcp__memory__add_observations(observations=[
    {"entityName": "Grace", "contents": ["found a moth 🦋", "found a moth 🦋"]}
]))
found = await mcp__memory__search_nodes(query="moth")
print([entity["name"] for entity in found["entities"]])
print(await mcp__memory__open_nodes(names=["Ada", "Nobody"]))
print(await mcp__memory__delete_observations(deletions=[
    {"entityName": "Ada", "observations": ["née Byron"]}
]))
print(await mcp__memory__delete_entities(entityNames=["Charles"]))
print(await mcp__memory__read_graph())

for failing in (
    mcp__memory__add_observations(observations=[{"entityName": "Nobody", "contents": ["x"]}]),
    mcp__memory__create_entities(entities="Ada"),
):
    try:
        print("not to be seen:", await failing)
    except ToolError as error:
        print(error)
