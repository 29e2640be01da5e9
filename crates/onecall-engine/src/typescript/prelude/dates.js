// Dates of a journalled program: what it reads of the clock is recorded, and repeated when the run
// is continued.
(hooks) => {
  "use strict";
  const { originals: o, native } = hooks;
  const { construct } = Reflect;
  const global = globalThis;

  // Called before the program runs, and only if it has a journal.
  let isObserved = false;
  hooks.observeDates = () => {
    if (isObserved) return;
    isObserved = true;
    const Original = global.Date;
    const current = () => construct(Original, [native.wallClock()]);
    const Observed = new Proxy(Original, {
      __proto__: null,
      apply: () => o.dateString(current()),
      construct: (target, args, newTarget) =>
        construct(target, args.length === 0 ? [native.wallClock()] : args, newTarget),
    });
    const replace = (object, name, value) =>
      o.defineProperty(object, name, { __proto__: null, configurable: true, writable: true, enumerable: false, value });
    replace(Original, "now", { now: () => native.wallClock() }.now);
    replace(Original.prototype, "constructor", Observed);
    replace(global, "Date", Observed);
  };
}
