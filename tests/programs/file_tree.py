# Walk the shared drive, then pick a parser per file type
import json
from pathlib import PurePosixPath

async def walk(path="/"):
    entries = await mcp__fixture__list_files(path=path)
    for entry in entries:
        yield entry
        if entry["type"] == "directory":
            async for child in walk(entry["path"]):
                yield child

async def count_records(path):
    content = await mcp__fixture__read_text(path=str(path))
    parsers = {
        ".csv": lambda t: len(t.strip().splitlines()) - 1,
        ".jsonl": lambda t: sum(1 for line in t.splitlines() if json.loads(line)),
        ".log": lambda t: t.count("\n"),
    }
    parse = parsers.get(path.suffix)
    return parse(content) if parse else None

total = 0
async for entry in walk():
    p = PurePosixPath(entry["path"])
    indent = "  " * (len(p.parts) - 2)
    if entry["type"] == "directory":
        print(f"{indent}{p.name}/")
        continue
    total += entry["size"]
    records = await count_records(p)
    print(f"{indent}{p.stem} ({p.suffix[1:]}) {entry['size']:,} bytes" + (f", {records} records" if records is not None else ""))
print(f"{total / 1024:.1f} KiB in all")
try:
    await mcp__fixture__list_files("/nowhere")
except ToolError as e:
    print(e)
