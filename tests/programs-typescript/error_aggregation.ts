class ValidationError extends Error {
  constructor(message: string, readonly field: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ValidationError";
  }
}
const parse = (text: string): number => {
  const value = Number(text);
  if (Number.isNaN(value)) throw new ValidationError(`'${text}' is no number`, "amount");
  if (value < 0) throw new RangeError("negative");
  return value;
};
const errors: Error[] = [];
const values = ["3", "x", "-1", "4.5"].flatMap((text) => {
  try {
    return [parse(text)];
  } catch (error) {
    errors.push(error as Error);
    return [];
  }
});
console.log(values, errors.map((error) => `${error.name}: ${error.message}`));
console.log(errors[0] instanceof ValidationError && errors[0].field, errors[1] instanceof ValidationError);
const both = new AggregateError(errors, "2 rows failed");
console.log(both.errors.length, both.message, both instanceof Error);
try {
  try {
    await mcp__fixture__fail({ message: "out of paper" });
  } catch (cause) {
    throw new ValidationError("cannot print", "printer", { cause });
  } finally {
    console.log("finally");
  }
} catch (error) {
  const { message, field, cause } = error as ValidationError & { cause: Error };
  console.log(message, field, cause.message.includes("out of paper"));
}
const first = await Promise.any([mcp__fixture__fail({ message: "no" }), mcp__fixture__add({ a: 1, b: 1 })]);
console.log(first, await Promise.any([Promise.reject(new Error("a"))]).catch((error) => error.constructor.name));
