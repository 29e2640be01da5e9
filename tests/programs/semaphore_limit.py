import asyncio

semaphore = asyncio.Semaphore(3)
running = 0
peak = 0

async def fetch(employee, quarter):
    global running, peak
    async with semaphore:
        running += 1
        peak = max(peak, running)
        try:
            return await mcp__fixture__get_expenses(employee["id"], quarter)
        finally:
            running -= 1

employees = await mcp__fixture__list_employees(department="Sales")
jobs = [(e, q) for e in employees for q in ("Q1", "Q2")]
results = await asyncio.gather(*(fetch(*job) for job in jobs))

for (e, q), expenses in zip(jobs, results):
    pending = [x for x in expenses if x["status"] == "pending"]
    print(f"{e['name']:<16} {q}: {len(expenses)} expenses, {len(pending)} pending")
print("peak concurrency:", peak)
