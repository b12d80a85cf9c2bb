/** Metrics of a run in memory: a column of numbers per metric, over the lines of its role. */

const chunkLength = 4096;

/** Numbers that grow without being copied; NaN where none was set. */
interface Column {
  readonly set: (index: number, value: number) => void;
  readonly at: (index: number) => number;
}

function createColumn(): Column {
  const chunks: (Float64Array | undefined)[] = [];
  return {
    set: (index, value) => {
      const place = Math.floor(index / chunkLength);
      const chunk = (chunks[place] ??= new Float64Array(chunkLength).fill(Number.NaN));
      chunk[index % chunkLength] = value;
    },
    at: (index) => chunks[Math.floor(index / chunkLength)]?.[index % chunkLength] ?? Number.NaN,
  };
}

export interface MetricColumn {
  readonly name: string;
  readonly values: Column;
  points: number;
  last: number;
}

/** All lines of one role. */
export interface RoleTable {
  lines: number;
  readonly steps: Column;
  readonly metrics: Map<string, MetricColumn>;
}

export const createRoleTable = (): RoleTable => ({
  lines: 0,
  steps: createColumn(),
  metrics: new Map(),
});

export function addLine(
  table: RoleTable,
  step: number,
  metrics: Readonly<Record<string, number | null>>,
): void {
  const line = table.lines;
  for (const [name, value] of Object.entries(metrics)) {
    if (typeof value !== 'number') continue;
    let column = table.metrics.get(name);
    if (!column) {
      column = { name, values: createColumn(), points: 0, last: value };
      table.metrics.set(name, column);
    }
    column.values.set(line, value);
    column.points++;
    column.last = value;
  }
  table.steps.set(line, step);
  table.lines = line + 1;
}
