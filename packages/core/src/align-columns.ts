/**
 * Formats a table as lines of text, one per row. Columns are aligned and two spaces apart.
 * @param indent text at the start of each line. @default ''
 */
export function alignColumns(rows: readonly (readonly string[])[], indent = ''): readonly string[] {
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0))) ?? [];
  return rows.map((row) =>
    `${indent}${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd(),
  );
}
