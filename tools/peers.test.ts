/** Tests how `pnpm bench peers` measures, selects and compares. */
import { expect, it } from 'vitest';
import { measureProcess } from '../bench/peers/measure-process.ts';
import { table } from '../bench/peers/print.ts';
import { differenceInterval, rewardTable } from '../bench/peers/rewards.ts';
import type { Row, Side } from '../bench/peers/row.ts';
import { runRow } from '../bench/peers/run-row.ts';

const around = { cache: '', repeats: 2, seeds: 3, python: { missing: 'none' } };
const node = (code: string): readonly string[] => [process.execPath, '-e', code];
const says = (name: string, seconds: number): Side => ({
  name,
  command: (repeat) => node(`console.log('{"seconds": ${seconds + repeat}, "cpuSeconds": 1}')`),
});
const rowOf = (ours: Side, ...peers: readonly Side[]): Row => ({
  name: 'row',
  job: 'a job',
  prepare: () => Promise.resolve({ ours, peers }),
});

it('counts processor time and memory of the children of a process', async () => {
  const work = `const bytes = Buffer.alloc(200e6, 1); const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end); process.exit(bytes.length > 0 ? 0 : 1)`;
  const code = `require('node:child_process').execFileSync(process.execPath, ['-e', ${JSON.stringify(work)}])`;
  const measured = await measureProcess(node(code));
  expect(measured.cpuSeconds).toBeGreaterThan(0.3);
  // The memory is unknown on systems without /proc.
  expect(measured.memoryGib ?? Infinity).toBeGreaterThan(0.18);
});

it('runs the sides in turns, and only the fastest peer after the first turn', async () => {
  const order: string[] = [];
  const row = rowOf(says('ours', 1), says('slow', 9), says('fast', 3));
  const result = await runRow(row, around, ({ side }) => void order.push(side));
  expect(order).toEqual(['ours', 'slow', 'fast', 'ours', 'fast']);
  expect(table([result])).toContain('| **× 3 (2)** |');
});

it('names a side that fails and a row without a peer', async () => {
  const broken = { name: 'broken', command: () => node('process.exit(3)') };
  const failed = await runRow(rowOf(says('ours', 1), broken), around, () => undefined);
  expect(failed.missing).toHaveLength(1);
  expect(table([failed])).toContain('broken: ');
  const alone = await runRow(rowOf(says('ours', 1)), around, () => undefined);
  expect(table([alone])).toContain('no peer');
});

it('compares the rewards of the seeds of a row that learns', async () => {
  const learns = (name: string, from: number): Side => ({
    name,
    command: (seed) => node(`console.log('{"parts": {"reward": ${from + seed / 10}}}')`),
  });
  const row = { ...rowOf(learns('ours', 0.1), learns('TRL', 0.2)), learns: true };
  const result = await runRow(row, around, () => undefined);
  expect(rewardTable([result]).split('\n').slice(2)).toEqual([
    '| row | ours | 3 | 0.200 | 0.100 to 0.300 |',
    '| row | TRL | 3 | 0.300 | 0.200 to 0.400 |',
    '| row | **ours - TRL** |  | -0.100 | -0.327 to 0.127 |',
  ]);
  expect(rewardTable([await runRow(rowOf(says('ours', 1)), around, () => undefined)])).toBe('');
});

it('compares with no side if ours has no reward', async () => {
  const learned = node(`console.log('{"parts": {"reward": 0.5}}')`);
  const peers = ['TRL', 'verl'].map((name) => ({ name, command: () => learned }));
  const result = await runRow(rowOf(says('ours', 1), ...peers), around, () => undefined);
  expect(rewardTable([result])).not.toContain(' - ');
  const failing = { name: 'ours', command: () => node('process.exit(3)') };
  const failed = await runRow(rowOf(failing, says('TRL', 1)), around, () => undefined);
  expect(table([failed])).not.toContain('×');
});

it('has an interval of a difference where both sides vary differently', () => {
  // The variances of the means are 7 / 12 and 20 / 3, so there are 3.53 degrees of freedom; t is 3.182
  // at 3.
  const interval = differenceInterval([1, 2, 3, 4, 5, 6], [1, 5, 9, 13]);
  expect(interval?.low).toBeCloseTo(-3.5 - 3.182 * Math.sqrt(7.25), 1);
  expect(interval?.high).toBeCloseTo(-3.5 + 3.182 * Math.sqrt(7.25), 1);
  expect(differenceInterval([1], [2, 3])).toBeUndefined();
  expect(differenceInterval([1, 1], [1, 1])).toBeUndefined();
});
