import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { faultsOf } from '../bench/faults/damage.ts';
import { judge, resultOf, type Result } from '../bench/faults/judge.ts';
import { writeDigitsData } from '../bench/digits/run.ts';
import { jobOf, train } from '../bench/faults/workspace.ts';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-faults-'));
const stopped = path.join(root, 'stopped');
let expected: Result;

beforeAll(async () => {
  await writeDigitsData(root);
  const whole = path.join(root, 'whole');
  await train(whole);
  expected = resultOf(whole);
  const interrupt = new AbortController();
  const stop = (output: string): void => void (output.includes('step 5/') && interrupt.abort());
  await train(stopped, stop, interrupt.signal);
}, 120_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A subset of `pnpm bench faults`. */
it.each([
  ['experience database', 'an experience is deleted', 'refused'],
  ['experience database', 'the explorer is one step further', 'refused'],
  ['experience database', 'a used record moves to another step', 'refused'],
  ['stages done', 'says that all is done', 'equal'],
  ['metrics', 'removed', 'record only'],
  ['preview of rollouts', 'the last byte is gone', 'equal'],
  ['process id', 'names a process that runs', 'equal'],
])('%s, %s: %s', { timeout: 60_000 }, async (kind, what, verdict) => {
  const fault = faultsOf(jobOf(stopped)).find((each) => each.kind === kind && each.what === what);
  expect(fault && (await judge(stopped, fault, expected))).toMatchObject({ verdict });
});
