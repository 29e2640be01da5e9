// `console.table`, drawn as Node draws it.
(hooks) => {
  "use strict";
  const { originals: o, is } = hooks;

  // A cell shows what it holds, and of an object only its kind of shape.
  const cell = (value) => hooks.format({ indentation: 0, deepest: 0, seen: [], circular: undefined },
    value, typeof value === "object" && value !== null ? 2 : 0);

  const line = (widths, left, cross, right) => {
    const parts = [];
    for (let i = 0; i < widths.length; i++) parts[i] = o.repeat("─", widths[i]);
    return left + o.join(parts, cross) + right;
  };

  const row = (cells, widths) => {
    let text = "│";
    for (let i = 0; i < cells.length; i++) {
      const spare = widths[i] - hooks.width(cells[i]) - 1;
      text += ` ${cells[i]}${o.repeat(" ", spare)}│`;
    }
    return text;
  };

  const draw = (head, rows) => {
    const widths = [];
    for (let i = 0; i < head.length; i++) {
      widths[i] = hooks.width(head[i]) + 2;
      for (let j = 0; j < rows.length; j++) {
        widths[i] = o.max(widths[i], hooks.width(rows[j][i]) + 2);
      }
    }
    let text = `${line(widths, "┌", "┬", "┐")}\n${row(head, widths)}\n${line(widths, "├", "┼", "┤")}\n`;
    for (let j = 0; j < rows.length; j++) text += `${row(rows[j], widths)}\n`;
    return text + line(widths, "└", "┴", "┘");
  };

  hooks.table = (data, wanted) => {
    if (data === null || typeof data !== "object") return undefined;
    const indexName = is.map(data) || is.set(data) ? "(iteration index)" : "(index)";
    const entries = [];
    if (is.map(data)) {
      const rows = [];
      o.mapEach(data, (value, key) => {
        rows[rows.length] = [`${rows.length}`, cell(key), cell(value)];
      });
      return draw([indexName, "Key", "Values"], rows);
    }
    if (is.set(data)) {
      o.setEach(data, (value) => {
        entries[entries.length] = [`${entries.length}`, value];
      });
    } else {
      const keys = o.keys(data);
      for (let i = 0; i < keys.length; i++) entries[i] = [keys[i], data[keys[i]]];
    }
    const columns = [];
    const known = new o.Map();
    let hasValues = false;
    for (let i = 0; i < entries.length; i++) {
      const value = entries[i][1];
      if (value === null || (typeof value !== "object" && typeof value !== "function")) {
        hasValues = true;
        continue;
      }
      const keys = wanted ?? o.keys(value);
      for (let j = 0; j < keys.length; j++) {
        if (o.mapHas(known, keys[j])) continue;
        o.mapSet(known, keys[j], true);
        columns[columns.length] = keys[j];
      }
    }
    const head = [indexName];
    for (let i = 0; i < columns.length; i++) head[head.length] = columns[i];
    if (hasValues) head[head.length] = "Values";
    const rows = [];
    for (let i = 0; i < entries.length; i++) {
      const [index, value] = entries[i];
      const isRow = value !== null && (typeof value === "object" || typeof value === "function");
      const cells = [index];
      for (let j = 0; j < columns.length; j++) {
        cells[cells.length] = isRow && o.hasOwn(value, columns[j]) ? cell(value[columns[j]]) : "";
      }
      if (hasValues) cells[cells.length] = isRow ? "" : cell(value);
      rows[rows.length] = cells;
    }
    return draw(head, rows);
  };
}
