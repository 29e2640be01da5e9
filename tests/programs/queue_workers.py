import asyncio

async def worker(name, queue, results):
    while True:
        ticket_id = await queue.get()
        if ticket_id is None:
            queue.task_done()
            return
        try:
            ticket = await mcp__fixture__get_ticket(id=ticket_id)
            results[ticket_id] = (ticket["priority"], len(ticket["comments"]))
        except ToolError:
            results[ticket_id] = None
        finally:
            queue.task_done()

queue = asyncio.Queue()
results = {}
workers = [asyncio.create_task(worker(f"w{i}", queue, results)) for i in range(4)]

for n in range(110, 122):
    await queue.put(f"T-{n}")
await queue.put("T-0")
for _ in workers:
    queue.put_nowait(None)

await queue.join()
await asyncio.gather(*workers)

for ticket_id in sorted(results):
    print(ticket_id, results[ticket_id])
print("queue empty:", queue.empty(), "all done:", all(w.done() for w in workers))
