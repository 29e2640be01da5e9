interface Employee { id: string; name: string; title: string; manager_id: string | null; salary: number }
interface Node extends Employee { reports: Node[] }
const employees: Employee[] = await mcp__fixture__list_employees({});
const nodes = new Map<string, Node>(employees.map((it) => [it.id, { ...it, reports: [] }]));
const roots: Node[] = [];
for (const node of nodes.values()) {
  const manager = node.manager_id === null ? undefined : nodes.get(node.manager_id);
  (manager?.reports ?? roots).push(node);
}
const print = (node: Node, depth = 0): void => {
  console.log(`${"  ".repeat(depth)}${node.name} (${node.title})`);
  node.reports.sort((a, b) => a.name.localeCompare(b.name)).forEach((report) => print(report, depth + 1));
};
roots.forEach((root) => print(root));
const payroll = (node: Node): number => node.reports.reduce((sum, report) => sum + payroll(report), node.salary);
console.log(roots.map((root) => [root.name, payroll(root)] as const));
const depth = (node: Node): number => 1 + Math.max(0, ...node.reports.map(depth));
console.log("levels:", Math.max(...roots.map(depth)));
