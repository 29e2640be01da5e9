type State = "idle" | "running" | "done";
type Event_ = { type: "start"; id: number } | { type: "finish"; result?: string } | { type: "reset" };
const transitions: { [S in State]?: { [E in Event_["type"]]?: State } } = {
  idle: { start: "running" },
  running: { finish: "done", reset: "idle" },
  done: { reset: "idle" },
};
class Machine {
  private state: State = "idle";
  readonly history: Array<[State, Event_["type"], State]> = [];
  static readonly VERSION = "1.0";
  private listeners: Set<(s: State) => void> = new Set();
  on(listener: (s: State) => void): () => void { this.listeners.add(listener); return () => void this.listeners.delete(listener); }
  send(event: Event_): this {
    const next = transitions[this.state]?.[event.type];
    if (!next) throw new RangeError(`cannot ${event.type} while ${this.state}`);
    this.history.push([this.state, event.type, next]);
    this.state = next;
    this.listeners.forEach((l) => l(next));
    return this;
  }
}
const machine = new Machine();
const off = machine.on((s) => console.log("now", s));
machine.send({ type: "start", id: 1 }).send({ type: "finish", result: "ok" });
off();
try { machine.send({ type: "start", id: 2 }); } catch (e: unknown) { if (e instanceof RangeError) console.log(e.message); }
console.log(machine);
console.log(machine.history, Machine.VERSION);
const isString = (x: unknown): x is string => typeof x === "string";
console.log([1, "a", null, "b"].filter(isString), ((x: number) => x * 2)(21), (<T,>(x: T): T => x)("generic"));
