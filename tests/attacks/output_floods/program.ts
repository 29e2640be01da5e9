// %% without end
while (true) console.log("x".repeat(10_000));

// %% to stderr
while (true) console.error("x".repeat(10_000));

// %% to both
while (true) {
  console.log("o".repeat(100));
  console.warn("e".repeat(100));
}

// %% one that is huge
console.log("x".repeat(5_000_000));
