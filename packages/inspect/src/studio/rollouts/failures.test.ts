import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterFile } from '@trinity-rft/test-support';
import { expect, it } from 'vitest';
import { logFailures } from './failures.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-failures-'));
afterFile(() => rmSync(root, { recursive: true, force: true }));

async function messageOf(text: string, fields: string): Promise<string | undefined> {
  const file = path.join(root, 'trinity.log');
  writeFileSync(
    file,
    `WARN  2026-01-01T00:00:00.000Z Run 1/2/0 of workflow "w" failed: ${text} ${fields}\n`,
  );
  return (await logFailures(file).read()).get('1/2/0')?.message;
}

it('removes the fields of the log line, and nothing else that looks like fields', async () => {
  const fields = 'taskset=sums row=3 attempt=1 times=2';
  expect(await messageOf('No x="1" y="2"', fields)).toBe('No x="1" y="2"');
  expect(await messageOf('No', String.raw`taskset="my \"own\" set" row=3 attempt=1`)).toBe('No');
});

it('reads messages with markup or with any line separator', async () => {
  // An expression that tries both ways to read each attribute would not end.
  const markup = `HTTP 502: <svg${' a="v"'.repeat(60)} > Bad gateway`;
  expect(await messageOf(markup, 'taskset=sums row=3 attempt=1')).toBe(markup);
  const progress = 'Ended at 50%\r100%\u2028done';
  expect(await messageOf(progress, 'taskset=sums row=3 attempt=1')).toBe(progress);
});

it('reads on in the earlier file when the log begins anew', async () => {
  const file = path.join(root, 'anew.log');
  const failed = (run: string) =>
    `WARN  2026-01-01T00:00:00.000Z Run ${run} of workflow "w" failed: no\n`;
  writeFileSync(`${file}.1`, failed('1/1/0'));
  writeFileSync(file, failed('1/2/0'));
  const failures = logFailures(file);
  const runs = async () => [...(await failures.read()).keys()];
  expect(await runs()).toEqual(['1/1/0', '1/2/0']);
  appendFileSync(file, failed('1/3/0'));
  renameSync(file, `${file}.1`);
  // The new file is already longer than the part of the earlier one that was read.
  writeFileSync(file, failed('1/4/0') + failed('1/5/0') + failed('1/6/0'));
  expect(await runs()).toEqual(['1/1/0', '1/2/0', '1/3/0', '1/4/0', '1/5/0', '1/6/0']);
  expect((await failures.read()).get('1/2/0')?.attempts).toBe(1);
});
