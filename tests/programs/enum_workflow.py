from enum import Enum, IntEnum, Flag, auto, unique

@unique
class Status(Enum):
    OPEN = "open"
    PENDING = "pending"
    CLOSED = "closed"

    @property
    def is_final(self):
        return self is Status.CLOSED

    @classmethod
    def parse(cls, text):
        try:
            return cls(text.lower())
        except ValueError:
            raise ValueError(f"unknown status: {text}") from None

class Priority(IntEnum):
    LOW = 1
    NORMAL = 2
    HIGH = 3
    URGENT = 4

class Permission(Flag):
    READ = auto()
    WRITE = auto()
    ADMIN = auto()

page = await mcp__fixture__search_tickets(query="billing", limit=50)
tickets = [(Priority[t["priority"].upper()], Status.parse(t["status"]), t) for t in page["tickets"]]

for priority, status, t in sorted(tickets, key=lambda x: (-x[0], x[2]["id"])):
    mark = "x" if status.is_final else " "
    print(f"[{mark}] {priority.name:<7} {status.value:<8} {t['title']}")

print(max(p for p, _, _ in tickets) >= Priority.HIGH, Priority(2).name, Priority.LOW + 1)
print([s.name for s in Status], Status("open") is Status.OPEN, Status.OPEN in Status)
rw = Permission.READ | Permission.WRITE
print(Permission.READ in rw, Permission.ADMIN in rw, bool(rw & Permission.ADMIN), rw.value)
try:
    Status.parse("lost")
except ValueError as e:
    print(e, e.__cause__)
