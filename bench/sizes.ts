/**
 * `pnpm bench sizes [NAME...]`: one GRPO step on models of several sizes, with its memory, as JSON
 * lines and then as the table of docs/reference/models.md. Each model runs in a separate process.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { report } from './engine/measure.ts';
import { sizes } from './sizes/shapes.ts';
import type { Measured } from './sizes/step.ts';

const wanted = process.argv.slice(2);
const chosen = sizes.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.startsWith(part)),
);
const measured = chosen.flatMap(({ name }) => measure(name));
process.stdout.write(`\n${table(measured)}\n`);

function measure(name: string): readonly Measured[] {
  const script = fileURLToPath(new URL('./sizes/step.ts', import.meta.url));
  const { stdout, status } = spawnSync(process.execPath, [...process.execArgv, script, name], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) {
    process.exitCode = 1;
    return [];
  }
  const row = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Measured;
  report({ ...row });
  return [row];
}

function table(rows: readonly Measured[]): string {
  const seconds = (value: number): string => (value < 10 ? value.toFixed(1) : value.toFixed(0));
  const cells = rows.map((row) => [
    row.name,
    `${row.millions < 10 ? row.millions.toFixed(1) : row.millions.toFixed(0)} M`,
    row.rank === undefined ? 'all weights' : `adapter, rank ${row.rank}`,
    `${row.rows} × (${row.prompt} + ${row.response})`,
    `${seconds(row.sampling + row.forward + row.backward + row.update)} s`,
    `${seconds(row.cpuSeconds)} s`,
    `${row.memoryGb.toFixed(1)} GB`,
    `${row.foreignCpuPercent} %`,
  ]);
  const head = [
    'Model',
    'Weights',
    'Trained',
    'Rows × (prompt + response)',
    'Step',
    'CPU time',
    'Memory',
    'Other load',
  ];
  return [head, head.map(() => '---'), ...cells]
    .map((line) => `| ${line.join(' | ')} |`)
    .join('\n');
}
