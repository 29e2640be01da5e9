type Loading = { kind: "loading" };
type Loaded<T> = { kind: "loaded"; value: T; at: number };
type Failed = { kind: "failed"; error: string };
type State<T> = Loading | Loaded<T> | Failed;
const describe = <T,>(state: State<T>): string => {
  switch (state.kind) {
    case "loading":
      return "…";
    case "loaded":
      return `value ${JSON.stringify(state.value)} at ${state.at}`;
    case "failed":
      return `failed: ${state.error}`;
    default: {
      const never: never = state;
      return never;
    }
  }
};
const load = async <T,>(work: () => Promise<T>): Promise<State<T>> => {
  try {
    return { kind: "loaded", value: await work(), at: 1 };
  } catch (error) {
    return { kind: "failed", error: error instanceof Error ? error.name : "unknown" };
  }
};
const states: State<unknown>[] = [
  { kind: "loading" },
  await load(() => mcp__fixture__add({ a: 1, b: 2 })),
  await load(() => mcp__fixture__fail({ message: "x" })),
];
states.map(describe).forEach((text) => console.log(text));
const isLoaded = <T,>(state: State<T>): state is Loaded<T> => state.kind === "loaded";
console.log(states.filter(isLoaded).map(({ value }) => value));
enum Level { Low = 1, Mid, High = Low + 9 }
const weights: Readonly<Record<keyof typeof Level, number>> = { Low: 0.5, Mid: 1, High: 2 };
console.log(Level.High, Level[2], Object.entries(weights), Object.keys(Level).length);
let maybe: string | undefined = Math.abs(-1) > 2 ? "x" : undefined;
console.log(maybe?.length ?? "none", maybe!?.length, (maybe as any) ?? (null as unknown as string) ?? "end");
declare const unused: number;
function overload(x: string): string;
function overload(x: number): number;
function overload(x: any): any {
  return typeof x === "string" ? x.toUpperCase() : x + 1;
}
console.log(overload("a"), overload(1));
