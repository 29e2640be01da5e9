"""The MCP server that the programs of this folder call, on the official Python SDK.

Its tools are of the kinds that people write: typed and untyped, with every sort of result, with
parameters that the SDK converts, and with errors. Each answers the same whenever it is called.
"""

import asyncio
import base64
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import typing
import uuid

import pydantic
from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.types import (
    AudioContent,
    BlobResourceContents,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

server = FastMCP("kit", log_level="ERROR")

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Address(pydantic.BaseModel):
    street: str
    city: str = "Berlin"


class Customer(pydantic.BaseModel):
    id: int
    name: str
    address: Address | None = None


@dataclasses.dataclass
class Point:
    x: int
    y: int


class Totals(typing.TypedDict):
    count: int
    sum: float


class Result(pydantic.BaseModel):
    result: list[int]


CUSTOMERS = [
    Customer(id=1, name="Ada", address=Address(street="Lane 1", city="London")),
    Customer(id=2, name="Bo"),
    Customer(id=3, name="Çelik", address=Address(street="Sokak 9", city="İzmir")),
]

ORDERS = [
    {"id": number, "customer": number % 3 + 1, "amount": number * 10.5, "region": "EU" if number % 2 else "US"}
    for number in range(1, 13)
]


# Results by their declared type.


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two integers."""
    return a + b


@server.tool()
def divide(a: float, b: float) -> float:
    """Divides a by b."""
    return a / b


@server.tool()
def greet(name: str, greeting: str = "Hello") -> str:
    """Greets a person."""
    return f"{greeting}, {name}!"


@server.tool()
def is_even(number: int) -> bool:
    return number % 2 == 0


@server.tool()
def nothing() -> None:
    """Answers nothing."""


@server.tool()
def names() -> list[str]:
    return ["Ada", "Bo", "Çelik"]


@server.tool()
def one_name() -> list[str]:
    return ["Ada"]


@server.tool()
def no_names() -> list[str]:
    return []


@server.tool()
def numbers(count: int = 3) -> list[int]:
    return list(range(1, count + 1))


@server.tool()
def gaps() -> list[int | None]:
    return [1, None, 3]


@server.tool()
def matrix() -> list[list[int]]:
    return [[1, 2], [3, 4]]


@server.tool()
def one_row() -> list[list[int]]:
    return [[1, 2]]


@server.tool()
def pair() -> tuple[int, str]:
    return (7, "seven")


@server.tool()
def letters() -> set[str]:
    return {"a"}


@server.tool()
def digits() -> str:
    """Text that looks like a number."""
    return "42"


@server.tool()
def zip_code() -> str:
    return "01067"


@server.tool()
def json_text() -> str:
    """Text that is JSON."""
    return '{"a": 1}'


@server.tool()
def word_null() -> str:
    return "null"


@server.tool()
def empty_text() -> str:
    return ""


@server.tool()
def several_lines() -> str:
    return "one\ntwo\nthree\n"


@server.tool()
def settings() -> dict[str, typing.Any]:
    return {"theme": "dark", "sizes": [1, 2.5], "nested": {"on": True, "off": None}}


@server.tool()
def scores() -> dict[str, int]:
    return {"Ada": 3, "Bo": 5}


@server.tool()
def by_number() -> dict[int, str]:
    return {1: "one", 2: "two"}


@server.tool()
def totals() -> Totals:
    return {"count": 3, "sum": 12.5}


@server.tool()
def origin() -> Point:
    return Point(0, 0)


@server.tool()
def customer(id: int) -> Customer:
    """One customer by number."""
    return next(it for it in CUSTOMERS if it.id == id)


@server.tool()
def find_customer(name: str) -> Customer | None:
    """A customer by name, if there is one."""
    return next((it for it in CUSTOMERS if it.name == name), None)


@server.tool()
def customers() -> list[Customer]:
    return CUSTOMERS


@server.tool()
def own_result() -> Result:
    """An object whose only field is called result."""
    return Result(result=[1, 2])


@server.tool()
def level() -> Level:
    return Level.HIGH


@server.tool()
def today() -> datetime.date:
    return datetime.date(2024, 2, 29)


@server.tool()
def moment() -> datetime.datetime:
    return datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)


@server.tool()
def price() -> decimal.Decimal:
    return decimal.Decimal("19.90")


@server.tool()
def large() -> int:
    return 2**63


@server.tool()
def anything() -> typing.Any:
    return {"kind": "any"}


# Results without a declared type: text, or the SDK's JSON.


@server.tool(structured_output=False)
def orders(region: str = "", page: int = 1, size: int = 100):
    """Orders as one JSON text."""
    rows = [row for row in ORDERS if region in ("", row["region"])]
    return json.dumps(rows[(page - 1) * size : page * size])


@server.tool(structured_output=False)
def order_page(cursor: int = 0) -> dict:
    """Orders by fives, with a cursor for the next page."""
    following = cursor + 5
    return {"orders": ORDERS[cursor:following], "next": following if following < len(ORDERS) else None}


@server.tool(structured_output=False)
def plain_list():
    return [1, 2, 3]


@server.tool(structured_output=False)
def plain_none():
    return None


@server.tool(structured_output=False)
def sentence():
    return "The quick brown fox."


@server.tool(structured_output=False)
def csv_text():
    return "name,qty\napple,3\npear,5\n"


@server.tool(structured_output=False)
def not_a_number():
    """JSON as Python's encoder writes it."""
    return json.dumps({"mean": float("nan"), "top": float("inf"), "bottom": float("-inf")})


@server.tool(structured_output=False)
def broken_json():
    return '{"a": 1,'


@server.tool(structured_output=False)
def two_texts():
    return [TextContent(type="text", text="first"), TextContent(type="text", text="second")]


@server.tool(structured_output=False)
def picture():
    return Image(data=PIXEL, format="png")


@server.tool(structured_output=False)
def captioned_picture():
    return ["A dot", Image(data=PIXEL, format="png")]


@server.tool(structured_output=False)
def data_and_picture():
    return ['{"width": 1, "height": 1}', Image(data=PIXEL, format="png")]


@server.tool(structured_output=False)
def sound():
    return [AudioContent(type="audio", data="UklGRg==", mimeType="audio/wav")]


@server.tool(structured_output=False)
def text_resource():
    contents = TextResourceContents(uri="memo://1", mimeType="text/plain", text="remember")
    return [EmbeddedResource(type="resource", resource=contents)]


@server.tool(structured_output=False)
def text_and_resource():
    contents = BlobResourceContents(uri="memo://2", mimeType="application/pdf", blob="JVBERg==")
    return [TextContent(type="text", text="see the file"), EmbeddedResource(type="resource", resource=contents)]


@server.tool(structured_output=False)
def link():
    return [ResourceLink(type="resource_link", uri="memo://3", name="memo")]


# Parameters.


@server.tool(structured_output=False)
def show(value: typing.Any = None):
    """Says what came over the wire."""
    return "received " + json.dumps(value, sort_keys=True, ensure_ascii=False)


@server.tool(structured_output=False)
def show_all(a: typing.Any = None, b: typing.Any = None, c: typing.Any = None):
    return "received " + json.dumps([a, b, c], sort_keys=True, ensure_ascii=False)


@server.tool(structured_output=False)
def schedule(day: datetime.date, time: datetime.time | None = None):
    return f"on {day.isoformat()} at {time}"


@server.tool(structured_output=False)
def remind(at: datetime.datetime, wait: datetime.timedelta = datetime.timedelta()):
    return f"{at.isoformat()} after {wait.total_seconds():g} s"


@server.tool(structured_output=False)
def pay(amount: decimal.Decimal):
    return f"paid {amount}"


@server.tool(structured_output=False)
def open_path(path: pathlib.PurePosixPath):
    return f"path {path}"


@server.tool(structured_output=False)
def lookup(key: uuid.UUID):
    return f"key {key}"


@server.tool(structured_output=False)
def set_level(level: Level):
    return f"level {level.value}"


@server.tool(structured_output=False)
def choose(mode: typing.Literal["fast", "slow"] = "fast"):
    return f"mode {mode}"


@server.tool(structured_output=False)
def total(values: list[float]):
    return f"total {sum(values):g}"


@server.tool(structured_output=False)
def join(words: list[str], separator: str = ", "):
    return "joined " + separator.join(words)


@server.tool(structured_output=False)
def count_keys(mapping: dict[str, int]):
    return "keys " + " ".join(sorted(mapping))


@server.tool(structured_output=False)
def register(customer: Customer, notify: bool = False):
    city = customer.address.city if customer.address else None
    return f"{customer.name} of {city}, notify {notify}"


@server.tool(structured_output=False)
def tag(item: str, tags: list[str] | None = None, limit: int | None = None):
    return f"{item}: {tags} {limit}"


@server.tool(structured_output=False)
def either(value: int | str):
    return f"{type(value).__name__} {value!r}"


@server.tool(structured_output=False)
def bounded(number: typing.Annotated[int, pydantic.Field(ge=1, le=10)]):
    return f"number {number}"


@server.tool(structured_output=False)
def upload(data: bytes):
    return f"{len(data)} bytes"


# Errors.


@server.tool()
def fail(message: str = "it broke") -> str:
    raise ValueError(message)


@server.tool()
def missing_key() -> str:
    return {}["absent"]


@server.tool()
def flaky(attempt: int) -> str:
    """Fails until the third attempt."""
    if attempt < 3:
        raise RuntimeError(f"attempt {attempt} failed")
    return f"worked at attempt {attempt}"


@server.tool()
def delete_everything() -> str:
    """A tool that the configuration blocks."""
    return "deleted"


# Time and names.


@server.tool()
async def slow(seconds: float, label: str = "done") -> str:
    await asyncio.sleep(seconds)
    return label


@server.tool()
async def steps(count: int, context: Context) -> str:
    """Reports progress."""
    for step in range(count):
        await context.report_progress(step + 1, count)
    return f"{count} steps"


@server.tool(name="dashed-name", structured_output=False)
def dashed_name():
    return "dashed"


@server.tool(name="dotted.name", structured_output=False)
def dotted_name():
    return "dotted"


@server.tool(name="ünï", structured_output=False)
def unicode_name():
    return "unicode"


@server.tool(name="camelCase", structured_output=False)
def camel_case(someValue: int = 1):
    return f"camel {someValue}"


@server.tool(name="print", structured_output=False)
def print_tool(text: str):
    return f"printed {text}"


@server.tool(structured_output=False)
def untyped(first, second=None):
    """Parameters without a type, which the SDK declares as text and takes as they come."""
    return "received " + json.dumps([first, second], sort_keys=True)


@server.tool()
def report() -> str:
    """JSON in a result that is declared as text."""
    return json.dumps({"rows": [{"id": 1}, {"id": 2}]})


@server.tool(structured_output=False)
def keywords(**kwargs):
    return "received " + json.dumps(kwargs, sort_keys=True)


if __name__ == "__main__":
    server.run()
