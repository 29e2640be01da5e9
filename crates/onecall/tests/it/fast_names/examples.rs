//! Programs whose behaviour depends on where variables are, on how long objects live, or on how code was
//! compiled.

pub(super) const PROGRAMS: [&str; 23] = [
    // Objects live until the process ends.
    "
class Noisy:
    def __del__(self): print('gone')
for i in range(3): x = Noisy()
print('end')
",
    "
import weakref
class Thing: pass
things = []
for i in range(3):
    thing = Thing()
    weakref.finalize(thing, print, 'gone', i)
print('end')
",
    "
def steps():
    try: yield 1
    finally: print('closed')
for i in range(2): running = steps(); next(running)
print('end')
",
    "
import asyncio
async def work(): pass
for i in range(2): job = work()
await asyncio.sleep(0)
print('end')
",
    "
import atexit
log = []
for i in range(3): log.append(i)
atexit.register(print, log)
atexit.register(lambda: print(log))
",
    "
import threading
def show(value): print(value, total)
total = 0
for i in range(3):
    total += i
    thread = threading.Thread(target=show, args=(i,))
    thread.start()
    thread.join()
",
    // Failures.
    "
for i in range(3):
    text = str(i)
    print(tex)
",
    "
for i in range(3):
    a = 10 // (1 - i)
",
    "
async def fail(n): raise KeyError(n)
for i in range(3):
    try: await fail(i)
    except KeyError as error: last = error
raise last
",
    "
import sys
for i in range(3):
    if i == 1: sys.exit(f'stopped at {i}')
",
    "
import traceback
for i in range(2):
    try: [][i]
    except IndexError: traceback.print_exc()
    try: missing
    except NameError: print(traceback.format_exc())
",
    "
x = 'a'
for i in range(60): x += x
",
    "
for i in range(3): pass
print(next(iter(())))
",
    "
import asyncio
class Noisy:
    def __del__(self): print('gone')
async def stop(): raise SystemExit('from a task')
for i in range(2):
    noisy = Noisy()
    task = asyncio.create_task(stop())
await asyncio.sleep(1)
",
    "
for i in range(3):
    raise ExceptionGroup('several', [ValueError(i), TypeError(i)])
",
    // Values.
    "
text, part = '', 'a'
for i in range(300):
    text += part
    part = part + str(i) if len(part) < 9 else text[i:i + 2]
    text = text + text[:1]
    if text == part or part < text: same = text is part
print(text[:60], len(text), same)
",
    // How code is compiled.
    "
'''What it does.'''
from __future__ import annotations
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: Other = 0
for i in range(2):
    point = Point(i)
    name: str = 'a'
    print(point, Point.__qualname__, (lambda: 0).__qualname__)
print(__doc__, Point.__annotations__)
",
    "
for i in range(2):
    def double(x): return 2 * x
    class Inner:
        number = i
        def get(self): return double(self.number)
    print(Inner().get(), double.__qualname__, Inner.__module__)
",
    "
sum = sum([1, 2])
list = [3]
for id in range(2): sum += id + list[0]
print(sum)
",
    "
match_count = 0
for item in [1, 'a', [2, 3], {'k': 4}, None]:
    match item:
        case int(n) if n: match_count += n
        case str() as text: print(text)
        case [first, *rest]: print(first, rest)
        case {'k': value, **others}: print(value, others)
        case _: print('other')
print(match_count)
",
    "
rows = [{'a': n} for n in range(5)]
best = None
while rows and (row := rows.pop()):
    best = row if best is None or row['a'] > best['a'] else best
    del row
print(best)
",
    "
import asyncio
results = []
async def work(n):
    await asyncio.sleep(0)
    return n * factor
for factor in range(3):
    async with asyncio.timeout(10):
        results += await asyncio.gather(*(work(n) for n in range(3)))
print(results)
",
    "
import logging
for i in range(2):
    try: i.missing
    except AttributeError: logging.exception('step %s', i)
",
];
