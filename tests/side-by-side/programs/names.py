#%% dash_becomes_underscore
print(await mcp__kit__dashed_name())

#%% dotted_name
#% better: the tool has a name that a program can write
print(await mcp__kit__dotted_name())

#%% dotted_name_by_globals
print(await globals()["mcp__kit__dotted.name"]())

#%% unicode_name
print(await mcp__kit__ünï())

#%% camel_case_name
print(await mcp__kit__camelCase())

#%% tool_named_like_a_builtin
print(await mcp__kit__print(text="x"))

#%% unknown_tool
await mcp__kit__absent()

#%% unknown_tool_caught
try:
    await mcp__kit__absent()
except NameError as error:
    print(type(error).__name__)

#%% unknown_server
try:
    await mcp__other__add(a=1, b=2)
except NameError:
    print("no such server")

#%% misspelt_tool
#% better: it is found before anything runs, and the error has the right name
await mcp__kit__ad(a=1, b=2)

#%% tool_without_its_prefix
#% better: the error has the right name
await add(a=1, b=2)

#%% blocked_tool
await mcp__kit__delete_everything()

#%% blocked_tool_caught
try:
    await mcp__kit__delete_everything()
except Exception as error:
    print(type(error).__name__, error)

#%% blocked_tool_by_globals
try:
    print(await globals()["mcp__kit__delete_everything"]())
except Exception as error:
    print(type(error).__name__, error)

#%% blocked_tool_by_eval
try:
    print(await eval("mcp__kit__delete_everything()"))
except Exception as error:
    print(type(error).__name__, error)

#%% blocked_tool_in_a_branch_that_never_runs
if False:
    await mcp__kit__delete_everything()
print("fine")

#%% unknown_tool_in_a_function_never_called
async def unused():
    return await mcp__kit__absent()
print("fine")

#%% tool_called_as_an_attribute
try:
    print(await mcp__kit.add(a=1, b=2))
except NameError:
    print("no such name")

#%% tool_names_as_text
names = ["add", "is_even"]
print([f"mcp__kit__{name}" in globals() for name in names])

#%% tool_in_a_local_scope
def choose(kind):
    return {"greet": mcp__kit__greet}[kind]
print(await choose("greet")(name="Ada"))

#%% tool_as_default_argument
async def run(tool=mcp__kit__add):
    return await tool(a=1, b=1)
print(await run())

#%% tool_as_class_attribute
class Client:
    add = staticmethod(mcp__kit__add)
print(await Client().add(a=1, b=1))

#%% tool_aliased
add = mcp__kit__add
print(await add(a=2, b=2))

#%% same_tool_twice
print(mcp__kit__add is mcp__kit__add)

#%% tool_in_a_set
print(len({mcp__kit__add, mcp__kit__add, mcp__kit__greet}))
