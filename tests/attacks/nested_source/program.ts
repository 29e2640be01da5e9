// %% parentheses
console.log(eval("(".repeat(100_000) + "1" + ")".repeat(100_000)));

// %% brackets
console.log(eval("[".repeat(100_000) + "]".repeat(100_000)));

// %% a long sum
console.log(eval(new Array(100_000).fill("1").join("+")));

// %% functions in functions
eval("()=>".repeat(50_000) + "1");
console.log("parsed");

// %% blocks
eval("{".repeat(100_000) + "}".repeat(100_000));
console.log("parsed");
