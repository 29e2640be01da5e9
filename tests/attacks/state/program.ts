// %% leaves something behind
(globalThis as any).left = "behind";
(Object.prototype as any).left = "behind";
Math.max = () => 7;
console.log("left");

// %% looks for it
console.log(typeof (globalThis as any).left, ({} as any).left, Math.max(1, 2));

// %% random numbers are not those of the last one
const numbers = new Set(Array.from({ length: 100 }, () => Math.random()));
console.log(numbers.size === 100);
