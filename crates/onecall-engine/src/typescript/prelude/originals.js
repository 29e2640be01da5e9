// What JavaScript has, kept before any program runs: a program that replaces a function
// of its own world does not change how we print or call tools.
(hooks) => {
  "use strict";
  const { apply } = Reflect;
  const free = (method) => (self, ...args) => apply(method, self, args);
  const getterOf = (prototype, key) => free(Object.getOwnPropertyDescriptor(prototype, key).get);
  const typedArray = Object.getPrototypeOf(Uint8Array.prototype);

  hooks.originals = {
    __proto__: null,
    apply,
    free,
    ownKeys: Reflect.ownKeys,
    getPrototypeOf: Object.getPrototypeOf,
    getOwnPropertyDescriptor: Object.getOwnPropertyDescriptor,
    defineProperty: Object.defineProperty,
    freeze: Object.freeze,
    keys: Object.keys,
    isArray: Array.isArray,
    isEnumerable: free(Object.prototype.propertyIsEnumerable),
    hasOwn: Object.hasOwn,
    functionText: free(Function.prototype.toString),
    join: free(Array.prototype.join),
    sort: free(Array.prototype.sort),
    at: free(String.prototype.charCodeAt),
    codePointAt: free(String.prototype.codePointAt),
    slice: free(String.prototype.slice),
    includes: free(String.prototype.includes),
    indexOf: free(String.prototype.indexOf),
    lastIndexOf: free(String.prototype.lastIndexOf),
    startsWith: free(String.prototype.startsWith),
    endsWith: free(String.prototype.endsWith),
    padStart: free(String.prototype.padStart),
    padEnd: free(String.prototype.padEnd),
    repeat: free(String.prototype.repeat),
    lower: free(String.prototype.toLowerCase),
    upper: free(String.prototype.toUpperCase),
    normalize: free(String.prototype.normalize),
    trim: free(String.prototype.trim),
    wellFormed: free(String.prototype.toWellFormed),
    fixed: free(Number.prototype.toFixed),
    precise: free(Number.prototype.toPrecision),
    radix: free(Number.prototype.toString),
    bigIntText: free(BigInt.prototype.toString),
    symbolText: free(Symbol.prototype.toString),
    symbolDescription: getterOf(Symbol.prototype, "description"),
    numberValue: free(Number.prototype.valueOf),
    stringValue: free(String.prototype.valueOf),
    booleanValue: free(Boolean.prototype.valueOf),
    bigIntValue: free(BigInt.prototype.valueOf),
    symbolValue: free(Symbol.prototype.valueOf),
    dateValue: free(Date.prototype.getTime),
    dateText: free(Date.prototype.toISOString),
    expressionText: free(RegExp.prototype.toString),
    expressionSource: getterOf(RegExp.prototype, "source"),
    mapSize: getterOf(Map.prototype, "size"),
    mapEach: free(Map.prototype.forEach),
    mapGet: free(Map.prototype.get),
    mapSet: free(Map.prototype.set),
    mapHas: free(Map.prototype.has),
    mapDelete: free(Map.prototype.delete),
    setSize: getterOf(Set.prototype, "size"),
    setEach: free(Set.prototype.forEach),
    setAdd: free(Set.prototype.add),
    weakMapHas: free(WeakMap.prototype.has),
    weakSetHas: free(WeakSet.prototype.has),
    weakSetAdd: free(WeakSet.prototype.add),
    WeakSet,
    bufferLength: getterOf(ArrayBuffer.prototype, "byteLength"),
    bufferSlice: free(ArrayBuffer.prototype.slice),
    viewLength: getterOf(DataView.prototype, "byteLength"),
    typedArrayKind: getterOf(typedArray, Symbol.toStringTag),
    typedArrayLength: getterOf(typedArray, "length"),
    then: free(Promise.prototype.then),
    errorText: free(Error.prototype.toString),
    json: JSON.stringify,
    Map,
    Set,
    Promise,
    Error,
    TypeError,
    RangeError,
    ReferenceError,
    AggregateError,
    String,
    Number,
    BigInt,
    Uint8Array,
    isError: Error.isError,
    floor: Math.floor,
    round: Math.round,
    sqrt: Math.sqrt,
    min: Math.min,
    max: Math.max,
    abs: Math.abs,
    isFinite: Number.isFinite,
    isNaN: Number.isNaN,
    isInteger: Number.isInteger,
    is: Object.is,
    toStringTag: Symbol.toStringTag,
    iterator: Symbol.iterator,
  };

  // The engine makes template literals of this one, ours as well as a program's.
  Object.defineProperty(String.prototype, "concat", { __proto__: null, writable: false, configurable: false });

  // A method of a kind of object, tried on another, throws; this says which it was.
  hooks.answers = (probe, value) => {
    try {
      probe(value);
      return true;
    } catch {
      return false;
    }
  };

  const { originals, answers } = hooks;
  const { typedArrayKind } = originals;
  hooks.is = {
    __proto__: null,
    map: (value) => answers(originals.mapSize, value),
    set: (value) => answers(originals.setSize, value),
    date: (value) => answers(originals.dateValue, value),
    expression: (value) =>
      value !== RegExp.prototype && answers(originals.expressionSource, value),
    weakMap: (value) => answers((it) => originals.weakMapHas(it, {}), value),
    weakSet: (value) => answers((it) => originals.weakSetHas(it, {}), value),
    buffer: (value) => answers(originals.bufferLength, value),
    view: (value) => answers(originals.viewLength, value),
    typedArray: (value) => typedArrayKind(value) !== undefined,
  };

  hooks.bigInteger = (digits) => originals.BigInt(digits);
  hooks.digits = (value) => originals.bigIntText(value);
}
