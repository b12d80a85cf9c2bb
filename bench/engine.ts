/**
 * `pnpm bench engine [training | sampling | vocabulary | lora | critic]`: JSON lines, then a table.
 * Each part runs in a separate process, to measure its peak memory.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { report } from './engine/measure.ts';

const parts = ['training', 'sampling', 'vocabulary', 'lora', 'critic'];
const wanted = process.argv.slice(2);
const rows = parts.filter((part) => wanted.length === 0 || wanted.includes(part)).flatMap(runPart);
for (const group of Object.values(Object.groupBy(rows, (row) => String(row['bench'])))) {
  process.stdout.write(`\n${toTable(group!)}\n`);
}

function runPart(part: string): Record<string, unknown>[] {
  const script = fileURLToPath(new URL(`./engine/${part}.ts`, import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [...process.execArgv, script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) process.exitCode = 1;
  const found = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  found.forEach(report);
  return found;
}

/** Formats rows as Markdown, one line each. */
function toTable(group: readonly Record<string, unknown>[]): string {
  const columns = Object.keys(group[0]!);
  const line = (cells: readonly unknown[]): string => `| ${cells.map(String).join(' | ')} |`;
  return [
    line(columns),
    line(columns.map(() => '---')),
    ...group.map((row) => line(columns.map((column) => row[column]))),
  ].join('\n');
}
