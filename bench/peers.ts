/**
 * `pnpm bench peers [--rows NAME,...] [--repeats N] [--seeds N] [--out FILE]`: compares the engine with
 * PyTorch, TRL, transformers and PEFT on the same machine, in turns, each in its own process. Reports
 * minimum and median of seconds, processor time and memory, and the ratio to the peer. Rows that learn
 * run with `--seeds` seeds, and the rewards of their last five steps are compared. A name selects all
 * rows that begin with it. The peers are installed into the user's cache, or come from
 * `TRINITY_TEST_PYTHON`; rows whose peer is missing say so. Models of public sizes have random weights.
 */
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus, homedir, totalmem } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { findPython } from '../tests/support/src/python/python.ts';
import { table } from './peers/print.ts';
import { repository } from './peers/programs.ts';
import type { RowResult } from './peers/row.ts';
import { rewardTable } from './peers/rewards.ts';
import { rows } from './peers/rows.ts';
import { runRow } from './peers/run-row.ts';

const pythonPackages = [
  'torch==2.15.0',
  'transformers==5.23.0',
  'trl==1.16.0',
  'peft==0.21.2',
] as const;

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '' },
    repeats: { type: 'string', default: '3' },
    seeds: { type: 'string', default: '6' },
    out: { type: 'string', default: 'peers.json' },
  },
});
const wanted = values.rows.split(',').filter(Boolean);
const chosen = rows.filter(
  ({ name }) => wanted.length === 0 || wanted.some((part) => name.startsWith(part)),
);
if (chosen.length === 0) {
  console.error(`--rows ${values.rows}: expected ${rows.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const [repeats, seeds] = [countOf('repeats'), countOf('seeds')];

console.log('Building, and looking for the peers (their first installation takes minutes)');
build();
const python = await findPython(pythonPackages);
if ('missing' in python) console.log(python.missing);
const cache = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'trinity-rft/peers',
);
await mkdir(cache, { recursive: true });

const results: RowResult[] = [];
for (const row of chosen) {
  console.log(`${row.name}: ${row.job}`);
  const result = await runRow(row, { cache, python, repeats, seeds }, (run) => {
    const reward = run.parts['reward'];
    const learned = reward === undefined ? '' : `, reward ${reward.toFixed(3)}`;
    const used = `${run.seconds.toFixed(2)} s, ${run.memoryGib?.toFixed(2)} GiB`;
    console.log(`  ${run.side} ${used}${learned}`);
  });
  for (const each of result.missing) console.log(`  missing: ${each}`);
  results.push(result);
  await writeFile(values.out, `${JSON.stringify({ machine: machine(), results }, null, 2)}\n`);
}
if (results.some(({ missing }) => missing.length > 0)) process.exitCode = 1;
const report = [table(results), rewardTable(results), `written to ${path.resolve(values.out)}`];
console.log(`\n${report.filter(Boolean).join('\n\n')}`);

function countOf(name: 'repeats' | 'seeds'): number {
  const count = Number(values[name]);
  if (Number.isInteger(count) && count >= 1) return count;
  console.error(`--${name} ${values[name]}: expected an integer from 1`);
  process.exit(2);
}

function build(): void {
  const script = path.join(repository, 'tools/build.ts');
  const { status } = spawnSync(process.execPath, [script], {
    cwd: repository,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) process.exit(1);
}

function machine(): Readonly<Record<string, unknown>> {
  return {
    processors: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    node: process.version,
    python: pythonPackages,
    at: new Date().toISOString(),
  };
}
