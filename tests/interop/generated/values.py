"""What generated functions return, and what they raise, as JSON."""

import asyncio
import json
from typing import Any

from tools import ToolError
from tools.fixture import add, bigint, echo, fail, mixed, nothing, rows, structured, wrapped_list


async def main() -> None:
    values: list[Any] = list(
        await asyncio.gather(
            add(2, 3),
            bigint(),
            echo({"deep": [1, 2.5, "é", None, True]}),
            echo("NaN"),
            mixed(),
            nothing(),
            rows(3),
            structured(),
            wrapped_list(),
        )
    )
    values.append(values[4].content[1]["mimeType"])
    try:
        await fail("on purpose")
    except ToolError as error:
        values.append(str(error))
    print(json.dumps(values))


asyncio.run(main())
# Another event loop, the same connection.
asyncio.run(nothing())
