enum Status { Open, Closed = 5, Pending }
enum Level { Low = "low", High = "high" }
const enum Bits { A = 1 << 0, B = 1 << 1, AB = A | B }
namespace Geometry {
  export interface Point { x: number; y: number }
  export const origin: Point = { x: 0, y: 0 };
  export function distance(a: Point, b: Point = origin): number {
    return Math.hypot(a.x - b.x, a.y - b.y);
  }
  export namespace Units { export const metre = "m"; }
}
console.log(Status, Level, Status[5], Status.Pending, Level.High, Bits.AB);
console.log(Geometry.distance({ x: 3, y: 4 }), Geometry.Units.metre, Geometry.origin);
declare const somewhere: string;
abstract class Shape {
  static count = 0;
  protected abstract area(): number;
  constructor(public readonly label: string, private scale = 2) { Shape.count++; }
  describe(this: Shape) { return `${this.label}: ${(this.area() * this.scale).toFixed(1)}`; }
  get big(): boolean { return this.area() > 10; }
}
class Square extends Shape implements Iterable<number> {
  #side: number;
  declare tag?: string;
  constructor(side: number) { super("square"); this.#side = side; }
  protected override area() { return this.#side ** 2; }
  *[Symbol.iterator]() { for (let i = 0; i < 4; i++) yield this.#side; }
}
const square = new Square(4);
console.log(square, square.describe(), square.big, [...square], Shape.count);
function overloaded(x: string): string;
function overloaded(x: number): number;
function overloaded(x: any) { return x; }
console.log(overloaded("a"), overloaded(2), <number>overloaded(3), (overloaded as Function).name);
const tuple = ["a", 1] as const satisfies readonly [string, number];
console.log(tuple, tuple[0]!.length);
let maybe: { deep?: { value?: number } } | undefined;
console.log(maybe?.deep?.value ?? "none", maybe);
