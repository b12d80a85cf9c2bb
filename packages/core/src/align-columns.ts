/** Returns the rows as lines, with columns of equal width that are two spaces apart. */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): readonly string[] {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    `${indent}${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd(),
  );
}
