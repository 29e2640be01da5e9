# Validate every expense, collect all problems instead of stopping at the first
import asyncio
from collections import Counter

class ExpenseError(Exception):
    code = "generic"
    def __init__(self, expense, message):
        super().__init__(f"{expense['id']}: {message}")
        self.expense = expense

class MissingReceipt(ExpenseError):
    code = "receipt"

class TooExpensive(ExpenseError):
    code = "amount"
    def __init__(self, expense, limit):
        super().__init__(expense, f"{expense['amount']:.2f} is over {limit}")

LIMITS = {"meals": 150, "travel": 700}

def validate(expense):
    if not expense["receipt"]:
        raise MissingReceipt(expense, "no receipt")
    if (limit := LIMITS.get(expense["category"])) and expense["amount"] > limit:
        raise TooExpensive(expense, limit)
    return expense["amount"]

async def check(employee_id):
    valid, problems = 0.0, []
    try:
        expenses = await mcp__fixture__get_expenses(employee_id, "Q3")
    except ToolError as e:
        return 0.0, [e]
    for x in expenses:
        try:
            amount = validate(x)
        except ExpenseError as e:
            problems.append(e)
        else:
            valid += amount
    return valid, problems

ids = [f"E{n:03d}" for n in (1, 5, 9, 14, 77)]
results = await asyncio.gather(*map(check, ids))
for employee_id, (valid, problems) in zip(ids, results):
    print(f"{employee_id}: {valid:>8.2f} ok, {len(problems)} problem(s)")
    for p in problems:
        print("   ", type(p).__name__, "-", p)
print(sorted(Counter(getattr(p, "code", "tool") for _, ps in results for p in ps).items()))

def cleanup():
    try:
        return "from try"
    finally:
        print("finally runs first")
print(cleanup())
try:
    try:
        raise KeyError("inner")
    except KeyError:
        raise ValueError("outer")
except ValueError as e:
    print(repr(e), "during", repr(e.__context__))
