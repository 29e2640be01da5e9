interface Employee { id: string; name: string; level: string; department: string }
interface Expense { amount: number; status: "approved" | "pending" | "rejected"; category: string }
type Budget = { per_quarter: number; limits: Record<string, number> };

const QUARTERS = ["Q1", "Q2", "Q3", "Q4"] as const;
type Quarter = (typeof QUARTERS)[number];

const employees: Employee[] = await mcp__fixture__list_employees();
const levels = [...new Set(employees.map((e) => e.level))].sort();
const budgets = new Map<string, Budget>(
  await Promise.all(levels.map(async (level): Promise<[string, Budget]> => [level, await mcp__fixture__get_budget({ level })])),
);

const rows: { name: string; quarter: Quarter; spent: number; limit: number; over: number }[] = [];
await Promise.all(
  employees.flatMap((e) =>
    QUARTERS.map(async (quarter) => {
      const expenses: Expense[] = await mcp__fixture__get_expenses({ employee_id: e.id, quarter });
      const spent = expenses.filter((x) => x.status !== "rejected").reduce((sum, x) => sum + x.amount, 0);
      const limit = budgets.get(e.level)!.per_quarter;
      if (spent > limit) rows.push({ name: e.name, quarter, spent: +spent.toFixed(2), limit, over: +(spent - limit).toFixed(2) });
    }),
  ),
);
rows.sort((a, b) => b.over - a.over || a.name.localeCompare(b.name));
console.log(`${rows.length} of ${employees.length * QUARTERS.length} over budget`);
console.table(rows.slice(0, 5));
console.log(JSON.stringify(rows.slice(0, 2), null, 2));
