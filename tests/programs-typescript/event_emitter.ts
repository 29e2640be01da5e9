type Events = { sale: [amount: number, region: string]; done: [] };
class Emitter<E extends Record<string, unknown[]>> {
  #handlers: { [K in keyof E]?: Array<(...args: E[K]) => void> } = {};
  on<K extends keyof E>(name: K, handler: (...args: E[K]) => void): () => void {
    (this.#handlers[name] ??= []).push(handler);
    return () => {
      this.#handlers[name] = this.#handlers[name]?.filter((it) => it !== handler);
    };
  }
  emit<K extends keyof E>(name: K, ...args: E[K]): number {
    const handlers = this.#handlers[name] ?? [];
    handlers.forEach((handler) => handler(...args));
    return handlers.length;
  }
}
const emitter = new Emitter<Events>();
const totals: Record<string, number> = {};
const stop = emitter.on("sale", (amount, region) => {
  totals[region] = (totals[region] ?? 0) + amount;
});
emitter.on("done", () => console.log("done", totals));
console.log(emitter.emit("sale", 10, "North"), emitter.emit("sale", 5, "North"), emitter.emit("sale", 1, "South"));
stop();
console.log(emitter.emit("sale", 100, "North"));
emitter.emit("done");
