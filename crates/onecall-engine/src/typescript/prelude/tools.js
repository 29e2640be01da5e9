// The tools as functions, found by name when a program first uses them.
(hooks) => {
  "use strict";
  const { originals: o, native, ToolError } = hooks;

  // Calls that are not answered yet, by id.
  const pending = new o.Map();

  hooks.waiting = () => (hooks.hasFailed() ? 0 : o.mapSize(pending));

  hooks.clearCalls = () => o.mapClear(pending);

  hooks.isWaiting = (id) => o.mapHas(pending, id);

  hooks.settle = (id, succeeded, value) => {
    const call = o.mapGet(pending, id);
    if (call === undefined) return;
    o.mapDelete(pending, id);
    if (succeeded === true) return call.resolve(value);
    const message = succeeded === false ? value : `'${call.name}' failed: ${value}`;
    call.reject(failed(call.failure, message));
  };

  // The error was made when the call was, so its stack says where that is.
  const failed = (failure, message) => {
    o.defineProperty(failure, "message", {
      __proto__: null, configurable: true, writable: true, enumerable: false, value: message,
    });
    return failure;
  };

  const isPlain = (value) => {
    if (value === null || typeof value !== "object" || o.isArray(value)) return false;
    const prototype = o.getPrototypeOf(value);
    return prototype === null || o.getPrototypeOf(prototype) === null;
  };

  const argumentsOf = (name, parameters, args) => {
    let given = args.length;
    while (given > 0 && args[given - 1] === undefined) given -= 1;
    if (given === 0) return {};
    if (given === 1 && isPlain(args[0])) return args[0];
    if (given > parameters.length) {
      throw new o.TypeError(
        `${name}() takes one object, or at most ${parameters.length} arguments, but ${given} were given`,
      );
    }
    const named = { __proto__: null };
    for (let i = 0; i < given; i++) named[parameters[i]] = args[i];
    return named;
  };

  // The name of the call of each promise, and the error that it would fail with.
  const made = new o.WeakMap();
  // What `await` and the functions of `Promise` read of a promise.
  const OF_PROMISES = { __proto__: null, then: true, catch: true, finally: true, constructor: true };

  // Fails the use of a promise as if it were the result.
  const checkUse = (promise, key) => {
    if (typeof key === "symbol" ? key !== o.iterator : OF_PROMISES[key] === true) return;
    const call = o.weakMapGet(made, promise);
    if (call === undefined) return;
    const [, after] = o.split(native.stack(hooks.rawStack(call.failure)), ">:", 2);
    const line = after === undefined ? "" : ` on line ${o.split(after, ":", 1)[0]}`;
    throw new o.TypeError(
      `the result of ${call.name}()${line} is used and was never awaited; write (await ${call.name}(...))`,
    );
  };

  // The prototype of the promises of calls. They have no properties of their own, so it sees each
  // that is read.
  function CallPromise() {}
  CallPromise.prototype = new Proxy(o.create(o.Promise.prototype), {
    __proto__: null,
    get(target, key, receiver) {
      if (receiver !== null && typeof receiver === "object") checkUse(receiver, key);
      return o.get(target, key, receiver);
    },
  });

  const call = (name, parameters, args, isFresh) => {
    if (hooks.hasExited()) throw hooks.exitError();
    const failure = new ToolError();
    const start = (resolve, reject) => {
      const id = native.call(hooks, name, argumentsOf(name, parameters, args), isFresh, failure);
      o.mapSet(pending, id, { name, failure, resolve, reject });
    };
    const promise = o.construct(o.Promise, [start], CallPromise);
    o.weakMapSet(made, promise, { name, failure });
    return promise;
  };

  const withName = (name, tool) => {
    o.defineProperty(tool, "name", { __proto__: null, value: name, configurable: true });
    return tool;
  };
  // For each tool the function that has it answer anew.
  hooks.fresh = new o.Map();
  hooks.tool = (name, parameters) => {
    const tool = withName(name, (...args) => call(name, parameters, args, false));
    o.mapSet(hooks.fresh, tool, (...args) => call(name, parameters, args, true));
    return tool;
  };
  // The gateway denies each call of such a tool and takes note of it.
  const blocked = (name) => {
    const tool = withName(name, () => call(name, [], [], false));
    o.mapSet(hooks.fresh, tool, tool);
    return tool;
  };

  // What a program expects to have and has not, with what to do instead.
  const OUTSIDE = "programs reach the outside only through tools";
  const ABSENT = {
    __proto__: null,
    fetch: OUTSIDE, XMLHttpRequest: OUTSIDE, WebSocket: OUTSIDE, EventSource: OUTSIDE,
    require: "import tools from './servers/<server>', or call them by name; import fs from 'fs' for the workspace",
    module: "a program exports nothing; print what matters with console.log",
    exports: "a program exports nothing; print what matters with console.log",
    Deno: OUTSIDE, Bun: OUTSIDE, window: OUTSIDE, document: OUTSIDE, localStorage: "nothing is kept between programs",
    sessionStorage: "nothing is kept between programs",
    Buffer: "use TextEncoder, TextDecoder, btoa and atob",
    setInterval: "use setTimeout in a loop", clearInterval: "use setTimeout in a loop",
    setImmediate: "use setTimeout or queueMicrotask", clearImmediate: "use setTimeout or queueMicrotask",
    __dirname: "paths are relative to the workspace", __filename: "paths are relative to the workspace",
    alert: "print with console.log", prompt: "programs cannot ask a user",
    Worker: "run calls in parallel with Promise.all", global: "use globalThis",
  };

  const known = new o.Map();
  // The function of a tool, or similar names for a name that is no tool.
  const resolveName = (name) => {
    if (o.mapHas(known, name)) return o.mapGet(known, name);
    const meaning = native.resolve(name);
    let found;
    if (o.hasOwn(meaning, "parameters")) {
      const called = o.hasOwn(meaning, "name") ? meaning.name : name;
      found = { tool: hooks.tool(called, meaning.parameters) };
    }
    else if (o.hasOwn(meaning, "blocked")) found = { tool: blocked(name) };
    else found = { nearest: meaning.nearest };
    o.mapSet(known, name, found);
    return found;
  };

  const missing = (name) => {
    if (ABSENT[name] !== undefined) return new o.ReferenceError(`${name} is not available: ${ABSENT[name]}`);
    const { nearest } = resolveName(name);
    const hint = nearest.length > 0 ? `. Did you mean: '${o.join(nearest, "' or '")}'?` : "";
    return new o.ReferenceError(`${name} is not defined${hint}`);
  };

  const global = globalThis;
  const setGlobal = (name, value) =>
    o.defineProperty(global, name, { __proto__: null, configurable: true, writable: true, enumerable: false, value });
  const unresolved = new o.Map();

  // Prepares a name that the program uses but does not define.
  hooks.define = (name, isTestedByTypeof) => {
    if (name in global || name === "arguments") return;
    if (isTestedByTypeof) {
      if (ABSENT[name] === undefined && resolveName(name).tool !== undefined) setGlobal(name, resolveName(name).tool);
      return;
    }
    o.mapSet(unresolved, name, true);
    o.defineProperty(global, name, {
      __proto__: null,
      configurable: true,
      enumerable: false,
      get() {
        const tool = ABSENT[name] === undefined ? resolveName(name).tool : undefined;
        if (tool === undefined) throw missing(name);
        o.mapDelete(unresolved, name);
        setGlobal(name, tool);
        return tool;
      },
      set() {
        throw new o.ReferenceError(`${name} is not defined`);
      },
    });
  };

  // `globalThis[name]` finds tools too, and is `undefined` for what there is not.
  const lookUp = (target, name) => {
    if (typeof name !== "string" || !o.startsWith(name, "mcp__")) return undefined;
    return resolveName(name).tool;
  };
  setGlobal("globalThis", new Proxy(global, {
    __proto__: null,
    get(target, name) {
      if (name in target && !(o.mapHas(unresolved, name))) return target[name];
      return lookUp(target, name);
    },
    has(target, name) {
      return name in target && !o.mapHas(unresolved, name) || lookUp(target, name) !== undefined;
    },
    set(target, name, value) {
      o.mapDelete(unresolved, name);
      setGlobal(name, value);
      return true;
    },
  }));

  // Asks the gateway a question and waits for the answer. Nothing that a program gave all objects
  // or texts may get into it.
  hooks.ask = (question, details) =>
    native.ask(o.json({ __proto__: null, [question]: { __proto__: null, ...details } }));
  hooks.text = (value) => o.wellFormed(o.String(value));

  const found = new o.Map();
  const find = (name) => {
    if (o.mapHas(found, name)) return o.mapGet(found, name);
    const answer = hooks.ask("find", { name: hooks.text(name) });
    if (!o.hasOwn(answer, "name")) throw new o.ReferenceError(answer.problem);
    const tool = hooks.tool(answer.name, answer.parameters);
    o.mapSet(found, name, tool);
    return tool;
  };
  hooks.find = find;

  const search = async (query, limit = 10) => {
    const most = o.Number(limit);
    if (!(most >= 0) || most % 1 !== 0) {
      throw new ToolError("'tools.search' failed: its limit must be a whole number, 0 or more");
    }
    const few = most < 1000 ? most : 1000;
    return hooks.ask("search", { query: hooks.text(query), limit: few, language: "typescript" });
  };

  // Prints how to call tools.
  setGlobal("help", function help(...things) {
    for (let i = 0; i < things.length; i++) {
      const name = typeof things[i] === "function" ? things[i].name : hooks.text(things[i]);
      const answer = hooks.ask("find", { name });
      if (!o.hasOwn(answer, "name")) throw new ToolError(`help() takes tools; ${answer.problem}`);
      hooks.write(answer.documentation, false);
    }
  });

  const own = { __proto__: null, search };
  setGlobal("tools", new Proxy(own, {
    __proto__: null,
    get(target, name) {
      if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
      return target[name] ?? find(name);
    },
    has(target, name) {
      if (typeof name !== "string") return false;
      try {
        return name === "search" || find(name) !== undefined;
      } catch {
        return false;
      }
    },
    ownKeys() {
      return hooks.ask("list", {});
    },
    getOwnPropertyDescriptor(target, name) {
      if (typeof name !== "string" || name === "search") return undefined;
      return { value: find(name), configurable: true, enumerable: true, writable: true };
    },
    set() {
      return false;
    },
  }));

  hooks.isPromise = (value) => native.promise(value) !== undefined;
  hooks.promiseState = (value) => native.promise(value);
}
