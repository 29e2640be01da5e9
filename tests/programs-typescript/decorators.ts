const log: string[] = [];
function traced(_target: object, key: string, descriptor: PropertyDescriptor) {
  const original = descriptor.value;
  descriptor.value = function (this: unknown, ...args: unknown[]) {
    log.push(`${key}(${args.join(", ")})`);
    return original.apply(this, args);
  };
}
function sealed(constructor: Function) { log.push(`sealed ${constructor.name}`); }
@sealed
class Calculator {
  @traced
  add(a: number, b: number) { return a + b; }
}
console.log(new Calculator().add(2, 3), log);
