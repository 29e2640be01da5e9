from abc import ABC, abstractmethod
from functools import total_ordering, cached_property

class Source(ABC):
    registry = {}

    def __init_subclass__(cls, kind=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if kind:
            Source.registry[kind] = cls

    def __init__(self, name):
        self._name = name

    @property
    def name(self):
        return self._name.title()

    @name.setter
    def name(self, value):
        if not value:
            raise ValueError("name must not be empty")
        self._name = value

    @abstractmethod
    async def load(self): ...

    def __repr__(self):
        return f"{type(self).__name__}({self._name!r})"

class Sales(Source, kind="sales"):
    async def load(self):
        return len(await mcp__fixture__query_sales())

class Staff(Source, kind="staff"):
    async def load(self):
        return len(await mcp__fixture__list_employees())

    def __repr__(self):
        return "*" + super().__repr__()

for kind, cls in Source.registry.items():
    source = cls(f"the {kind}")
    print(source, source.name, await source.load())

source.name = "people"
try:
    source.name = ""
except ValueError as e:
    print("error:", e, "| still", source.name)
try:
    Source("x")
except TypeError:
    print("abstract")

@total_ordering
class Version:
    __slots__ = ("parts",)
    def __init__(self, text): self.parts = tuple(map(int, text.split(".")))
    def __eq__(self, other): return self.parts == other.parts
    def __lt__(self, other): return self.parts < other.parts
    def __hash__(self): return hash(self.parts)
    def __str__(self): return ".".join(map(str, self.parts))

versions = [Version(v) for v in ("1.10.0", "1.2.9", "1.2.10")]
print(*sorted(versions), max(versions) >= versions[1], len({*versions, Version("1.2.9")}))
print([c.__name__ for c in Staff.__mro__])
