from dataclasses import dataclass, field, asdict, replace
from typing import Optional
import json

@dataclass(order=True)
class Employee:
    salary: int
    name: str = field(compare=False)
    department: str = field(compare=False, default="?")
    skills: list[str] = field(default_factory=list, compare=False, repr=False)

    @property
    def initials(self) -> str:
        return "".join(part[0] for part in self.name.split())

@dataclass(frozen=True)
class Summary:
    department: str
    headcount: int
    payroll: int
    best_paid: Optional[str] = None

    def __post_init__(self):
        if self.headcount < 0:
            raise ValueError("negative headcount")

raw = await mcp__fixture__list_employees()
people = [Employee(e["salary"], e["name"], e["department"], e["skills"]) for e in raw]

print(min(people))
print(max(people).initials, sorted(people)[-2].name)

for dep in sorted({p.department for p in people}):
    staff = [p for p in people if p.department == dep]
    s = Summary(dep, len(staff), sum(p.salary for p in staff), max(staff).name)
    print(json.dumps(asdict(s), ensure_ascii=False))

last = replace(s, headcount=0, best_paid=None)
print(last, last == replace(last), hash(last) == hash(replace(last)))
try:
    last.headcount = 5
except AttributeError as e:
    print(type(e).__name__)
