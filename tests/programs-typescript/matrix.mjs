const multiply = (a, b) => a.map((row) => b[0].map((_, column) => row.reduce((sum, value, at) => sum + value * b[at][column], 0)));
const transpose = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));
const identity = (n) => Array.from({ length: n }, (_, i) => Array.from({ length: n }, (_, j) => +(i === j)));
const a = [[1, 2], [3, 4], [5, 6]];
console.log(multiply(a, transpose(a)), multiply(a, identity(2)));
const determinant = (m) => (m.length === 1 ? m[0][0] : m[0].reduce((sum, value, at) =>
  sum + (-1) ** at * value * determinant(m.slice(1).map((row) => row.filter((_, column) => column !== at))), 0));
console.log(determinant([[2, 0, 1], [1, 3, 2], [1, 1, 4]]));
const grid = ["..#..", ".##..", "....."].map((row) => [...row]);
const neighbours = (y, x) => [-1, 0, 1].flatMap((dy) => [-1, 0, 1].map((dx) => [y + dy, x + dx]))
  .filter(([ny, nx]) => (ny !== y || nx !== x) && grid[ny]?.[nx] === "#").length;
console.log(grid.map((row, y) => row.map((_, x) => neighbours(y, x)).join("")).join("\n"));
const typed = Float64Array.from([3, 1, 2]).sort();
console.log(typed, typed.map((x) => x * 2).join("/"), new Int8Array([127, 128, 300]), Uint8Array.of(1, 2).subarray(1));
console.log(new Array(3), [, 1, , 2], [1, [2, [3, [4]]]].flat(Infinity), [3, 1, 2].toSorted?.() ?? "none");
console.log([1, 2, 3, 4].findLast((n) => n % 2), [5, 6].at(-1), [1, 2, 3].with?.(1, 9), Array.from("abc", (c, i) => c + i));
const spiral = (m) => (m.length === 0 ? [] : [...m[0], ...spiral(m.length > 1 ? transpose(m.slice(1)).reverse() : [])]);
console.log(spiral([[1, 2, 3], [4, 5, 6], [7, 8, 9]]));
