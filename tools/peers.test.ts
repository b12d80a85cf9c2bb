/** `pnpm bench peers`: how it measures, chooses and compares. */
import { expect, it } from 'vitest';
import { measureProcess } from '../bench/peers/measure-process.ts';
import { table } from '../bench/peers/print.ts';
import type { Row, Side } from '../bench/peers/row.ts';
import { runRow } from '../bench/peers/run-row.ts';

const around = { cache: '', repeats: 2, python: { missing: 'none' } };
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
  // Where there is no /proc, it is not known.
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
