"""Return annotations of tools, and for each what tools with it return.

A tool for each of them is `NAME_0`, `NAME_1` and so on. The types are what Python programmers
write; the data are empty, single, many, nothing, and strings that look like JSON.
"""

import datetime
import decimal
import enum
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

LOOKS_LIKE_JSON = ["[1, 2]", "5", "null", '{"a": 1}', '"quoted"', "true", ""]


class Colour(enum.Enum):
    RED = "red"
    FIVE = "5"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Person(TypedDict):
    name: str
    age: int


class ResultDict(TypedDict):
    result: list[int]


@dataclass
class Point:
    x: float
    y: float = 0.0


@dataclass
class Tagged:
    tags: list[str] = field(default_factory=list)


class Order(BaseModel):
    id: int
    items: list[str] = []
    note: Optional[str] = None


class Answer(BaseModel):
    result: int


class AnswerList(BaseModel):
    result: list[Order]


class Report(BaseModel):
    result: str
    status: str


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int


class Pair(NamedTuple):
    left: int
    right: str


class Empty(BaseModel):
    pass


DAY = datetime.datetime(2026, 5, 17, 8, 30, tzinfo=datetime.timezone.utc)
ONE = Order(id=1, items=["pen"], note="[1]")

TABLE = [
    ("int", int, [0, -7, 2**53 + 1]),
    ("float", float, [0.0, 1.5, 3.0]),
    ("bool", bool, [True, False]),
    ("str", str, ["plain", *LOOKS_LIKE_JSON]),
    ("none", None, [None]),
    ("bytes", bytes, [b"", b"plain", b"[1]"]),
    ("any", Any, [5, "text"]),
    ("optional_int", Optional[int], [None, 0, 5]),
    ("optional_str", Optional[str], [None, "null", "5", ""]),
    ("optional_list", Optional[list[int]], [None, [], [1]]),
    ("optional_dict", Optional[dict[str, int]], [None, {}, {"result": 1}]),
    ("optional_model", Optional[Order], [None, ONE]),
    ("int_or_str", Union[int, str], [5, "5", ""]),
    ("str_or_list", str | list[str], ["[]", [], ["a"]]),
    ("models_union", Order | Person, [ONE, {"name": "Ada", "age": 3}]),
    ("bare_list", list, [[], [1], [1, "a", None]]),
    ("list_int", list[int], [[], [1], [1, 2, 3]]),
    ("list_float", list[float], [[], [0.5], [1.0, 2.5]]),
    ("list_bool", list[bool], [[], [True], [True, False]]),
    ("list_str", list[str], [[], ["one"], ["[1]", "5", "null", ""], ["a\nb", "c"]]),
    ("list_any", list[Any], [[], [None], [1, "1", [1]]]),
    ("list_none", list[None], [[], [None], [None, None]]),
    ("list_optional", list[Optional[int]], [[], [None], [1, None, 3]]),
    ("list_list", list[list[int]], [[], [[]], [[1]], [[1, 2], []], [[], []]]),
    ("list_list_str", list[list[str]], [[], [[]], [["5"]], [["a"], ["[1]", ""]]]),
    ("list_list_list", list[list[list[int]]], [[], [[[]]], [[[1], [2]], [[3]]]]),
    ("list_dict", list[dict[str, int]], [[], [{}], [{"a": 1}], [{"result": 1}, {"b": 2}]]),
    ("list_dict_any", list[dict[str, Any]], [[], [{"a": None}], [{"a": [1]}, {}]]),
    ("list_tuple", list[tuple[int, str]], [[], [(1, "1")], [(1, "a"), (2, "b")]]),
    ("list_model", list[Order], [[], [ONE], [ONE, Order(id=2)]]),
    ("list_typed_dict", list[Person], [[], [{"name": "A", "age": 3}]]),
    ("list_dataclass", list[Point], [[], [Point(1.0)], [Point(1.0, 2.0), Point(0.0)]]),
    ("list_enum", list[Colour], [[], [Colour.FIVE], [Colour.RED, Colour.FIVE]]),
    ("list_datetime", list[datetime.date], [[], [DAY.date()]]),
    ("list_union", list[int | str], [[], ["5"], [5, "5"]]),
    ("bare_dict", dict, [{}, {"a": 1}, {"result": 1}]),
    ("dict_str_int", dict[str, int], [{}, {"a": 1}, {"result": 1}, {"result": 1, "b": 2}]),
    ("dict_str_any", dict[str, Any], [{}, {"a": None}, {"result": [1]}]),
    ("dict_str_list", dict[str, list[int]], [{}, {"a": []}, {"a": [1], "b": [2, 3]}]),
    ("dict_str_dict", dict[str, dict[str, str]], [{}, {"a": {}}, {"a": {"b": "5"}}]),
    ("dict_str_optional", dict[str, Optional[int]], [{}, {"a": None}, {"a": 1}]),
    ("dict_int_str", dict[int, str], [{}, {1: "a"}, {1: "5", 2: ""}]),
    ("dict_int_list", dict[int, list[int]], [{}, {1: []}, {1: [1]}]),
    ("bare_tuple", tuple, [(), (1,), (1, "a")]),
    ("tuple_fixed", tuple[int, str], [(1, "1"), (0, "")]),
    ("tuple_any_length", tuple[int, ...], [(), (1,), (1, 2)]),
    ("set_int", set[int], [set(), {1}]),
    ("frozenset_str", frozenset[str], [frozenset(), frozenset(["5"])]),
    ("typed_dict", Person, [{"name": "[1]", "age": 0}, {"name": "", "age": 3}]),
    ("typed_dict_result", ResultDict, [{"result": []}, {"result": [1]}]),
    ("dataclass", Point, [Point(1.0), Point(0.5, 2.0)]),
    ("dataclass_list", Tagged, [Tagged(), Tagged(["5"])]),
    ("model", Order, [Order(id=1), ONE]),
    ("model_result", Answer, [Answer(result=0), Answer(result=5)]),
    ("model_result_list", AnswerList, [AnswerList(result=[]), AnswerList(result=[ONE])]),
    ("model_result_and_more", Report, [Report(result="[1]", status="ok")]),
    ("model_recursive", Tree, [Tree(value=1), Tree(value=1, children=[Tree(value=2)])]),
    ("model_generic", Page[int], [Page[int](items=[], total=0), Page[int](items=[1], total=1)]),
    ("model_empty", Empty, [Empty()]),
    ("named_tuple", Pair, [Pair(1, "1")]),
    ("literal_str", Literal["a", "5"], ["a", "5"]),
    ("literal_mixed", Literal["1", 1], ["1", 1]),
    ("enum_str", Colour, [Colour.RED, Colour.FIVE]),
    ("enum_int", Level, [Level.LOW]),
    ("datetime", datetime.datetime, [DAY]),
    ("date", datetime.date, [DAY.date()]),
    ("timedelta", datetime.timedelta, [datetime.timedelta(hours=1)]),
    ("uuid", uuid.UUID, [uuid.UUID(int=5)]),
    ("path", pathlib.Path, [pathlib.Path("a/5")]),
    ("decimal", decimal.Decimal, [decimal.Decimal("1.50")]),
    ("annotated_int", Annotated[int, Field(ge=0, description="How many")], [0, 5]),
    ("annotated_str", Annotated[str, Field(max_length=9)], ["5", "text"]),
    ("annotated_list", Annotated[list[str], Field(max_length=3)], [[], ["5"]]),
    ("nested_generics", dict[str, list[tuple[int, Optional[str]]]], [{}, {"a": [(1, None)]}]),
]
