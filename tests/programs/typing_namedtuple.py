from __future__ import annotations
from collections import namedtuple
from typing import NamedTuple, TypedDict, Iterable, Callable, Any, TypeVar, Generic, Protocol, Literal

T = TypeVar("T")

class Sale(NamedTuple):
    id: int
    region: str
    revenue: float
    product: str = "unknown"

    def label(self) -> str:
        return f"#{self.id} {self.product}"

class Report(TypedDict, total=False):
    title: str
    count: int

class HasRevenue(Protocol):
    revenue: float

class Stack(Generic[T]):
    def __init__(self) -> None:
        self._items: list[T] = []
    def push(self, item: T) -> Stack[T]:
        self._items.append(item)
        return self
    def pop(self) -> T:
        return self._items.pop()
    def __len__(self) -> int:
        return len(self._items)

def top(items: Iterable[HasRevenue], n: int = 3, key: Callable[[Any], float] = lambda s: s.revenue) -> list:
    return sorted(items, key=key, reverse=True)[:n]

def mode(kind: Literal["best", "worst"]) -> bool:
    return kind == "best"

rows = await mcp__fixture__query_sales("West", 2025)
sales = [Sale(r["id"], r["region"], r["revenue"], r["product"]) for r in rows]
for s in top(sales):
    print(s.label(), s.revenue)
print(sales[0], sales[0]._replace(revenue=0.0)._asdict())
sale_id, *_ = sales[1]
print(sale_id, Sale._fields, Sale(1, "x", 2.0).product)

report: Report = {"title": "West", "count": len(sales)}
print(report, mode("best"))
stack = Stack[int]().push(1).push(2)
print(stack.pop(), len(stack))
Point = namedtuple("Point", "x y", defaults=[0])
print(Point(3), Point(1, 2) < Point(1, 3), Point(1, 2) == (1, 2))
