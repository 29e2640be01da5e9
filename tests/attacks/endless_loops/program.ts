// %% a loop
while (true) {}

// %% a loop that catches everything
while (true) {
  try {
    throw 1;
  } catch {}
}

// %% in finally
try {
  throw 1;
} finally {
  for (;;) {}
}

// %% microtasks without end
const again = (): void => queueMicrotask(again);
again();
await new Promise(() => {});

// %% promises without end
(async () => {
  while (true) await null;
})();

// %% timers without end
const tick = () => setTimeout(tick, 0);
tick();

// %% a getter while it is printed
console.log({ get x() { return 1; }, toString() { while (true); }, [Symbol.toStringTag]: "x" }, `${{ toString() { while (true); } }}`);

// %% a generator without end
function* all() { while (true) yield 1; }
console.log([...all()].length);

// %% a sort that never agrees
const rows = Array.from({ length: 100000 }, (_, i) => i);
while (true) rows.sort(() => Math.random() - 0.5);
