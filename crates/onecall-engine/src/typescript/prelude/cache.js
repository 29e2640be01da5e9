// The object `cache` of a program: what it can do about answers that are kept.
(hooks) => {
  "use strict";
  const { originals: o, ToolError } = hooks;

  const ask = (question, details) => {
    try {
      return hooks.ask(question, details);
    } catch (error) {
      throw new ToolError(error.message);
    }
  };

  const fresh = (tool, ...args) => {
    const call = o.mapGet(hooks.fresh, tool);
    if (call === undefined) {
      throw new o.TypeError(
        "cache.fresh() takes a tool and then its arguments: await cache.fresh(mcp__server__tool, { name: value })",
      );
    }
    return call(...args);
  };
  const clear = async (pattern = "*") => ask("cache_clear", { pattern: hooks.text(pattern) });
  const stats = () => ask("cache_stats", {});

  o.defineProperty(globalThis, "cache", {
    __proto__: null, configurable: true, writable: true, enumerable: false,
    value: o.freeze({ fresh, clear, stats }),
  });
}
