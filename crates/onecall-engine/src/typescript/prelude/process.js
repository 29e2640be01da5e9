// `process`: the arguments of the program, an empty environment, output, and the end of the program.
(hooks) => {
  "use strict";
  const { originals: o, native } = hooks;
  const { queueMicrotask } = globalThis;

  // What `process.exit` threw first, and the exit code.
  let exit;
  let exitCode;

  const write = (toStderr) => (text) => {
    if (typeof text !== "string") throw new o.TypeError('The "chunk" argument must be of type string.');
    hooks.writePart(text, toStderr);
    return true;
  };

  const process = {
    argv: [],
    env: {},
    platform: "linux",
    stdout: { write: write(false) },
    stderr: { write: write(true) },
    cwd: () => native.workingDirectory(),
    nextTick: (callback, ...args) => queueMicrotask(() => o.apply(callback, undefined, args)),
    // Throws, because a program cannot be stopped in the middle. What it does after that has no effect.
    exit: (code = exitCode) => {
      if (exit === undefined) {
        exitCode = code;
        exit = new o.Error(`process.exit(${code ?? ""})`);
        hooks.fail(exit);
      }
      throw exit;
    },
    get exitCode() {
      return exitCode;
    },
    set exitCode(code) {
      if (exit === undefined) exitCode = code;
    },
  };
  o.defineProperty(globalThis, "process", {
    __proto__: null, configurable: true, writable: true, enumerable: false, value: process,
  });
  hooks.nodeModules.process = process;

  hooks.hasExited = () => exit !== undefined;
  hooks.exitError = () => exit;
  hooks.beginProcess = (argv) => {
    exit = undefined;
    exitCode = undefined;
    process.argv = argv;
  };
  // Undefined if the program ran to its end, null if it ended itself with success, else an error.
  hooks.exitFailure = () => {
    const isSuccess = exitCode === undefined || exitCode === null || o.Number(exitCode) === 0;
    if (isSuccess) return exit === undefined ? undefined : null;
    return exit ?? new o.Error(`process.exitCode is ${hooks.inspect(exitCode)}`);
  };
}
