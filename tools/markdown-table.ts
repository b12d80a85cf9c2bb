/** Tables of generated pages. */

/** Lines of a table, followed by an empty line. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  return [lineOf(head), lineOf(head.map(() => '---')), ...rows.map(lineOf), ''];
}

/** Lines of a table with columns of equal width, as oxfmt writes them. */
export function alignedTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const cells = [head, ...rows].map((row) => row.map(escape));
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]!.length)));
  const [first = [], ...rest] = cells.map((row) => row.map((cell, i) => cell.padEnd(widths[i]!)));
  const rule = widths.map((width) => '-'.repeat(width));
  return [...[first, rule, ...rest].map((row) => `| ${row.join(' | ')} |`), ''];
}

const escape = (cell: string): string => cell.replaceAll('|', '\\|');

const lineOf = (cells: readonly string[]): string => `| ${cells.map(escape).join(' | ')} |`;
