abstract class Shape {
  static #count = 0;
  readonly id: number;
  constructor(protected readonly name: string) {
    this.id = ++Shape.#count;
  }
  abstract area(): number;
  get label(): string {
    return `${this.name} #${this.id}`;
  }
  toString() {
    return `${this.label}: ${this.area().toFixed(2)}`;
  }
  static get count() {
    return Shape.#count;
  }
}
class Circle extends Shape {
  constructor(private radius: number) {
    super("circle");
  }
  override area() {
    return Math.PI * this.radius ** 2;
  }
}
class Rectangle extends Shape {
  constructor(public width: number, public height: number, name = "rectangle") {
    super(name);
  }
  area() {
    return this.width * this.height;
  }
}
class Square extends Rectangle {
  constructor(side: number) {
    super(side, side, "square");
  }
  set side(value: number) {
    this.width = this.height = value;
  }
}
const shapes: Shape[] = [new Circle(1.5), new Rectangle(2, 3), new Square(4)];
(shapes[2] as Square).side = 5;
for (const shape of shapes) console.log(`${shape}`, shape instanceof Rectangle);
console.log(Shape.count, shapes[1]);
console.log(Object.getPrototypeOf(shapes[2]).constructor.name, "area" in shapes[0]!);
console.log(shapes.map((shape) => shape.area()).sort((a, b) => a - b));
