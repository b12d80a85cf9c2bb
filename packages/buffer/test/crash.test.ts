import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { createRandom } from '@trinity-rft/core';
import type { Lease } from '@trinity-rft/core/store';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { sqliteExperienceStore } from '../src/index.js';
import { batchSize, putSize } from './crash-protocol.js';

const child = fileURLToPath(new URL('crash-child.ts', import.meta.url));
const register = new URL('../../../tools/register-source.mjs', import.meta.url).href;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'trinity-crash-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Kills a child `delay` ms after it has reported `lines` lines; returns the last steps it reported.
 */
async function workAndDie(
  path: string,
  lines: number,
  delay: number,
): Promise<{ put: number; trained: number }> {
  const args = ['--conditions=@trinity-rft/source', `--import=${register}`, child, path];
  const worker = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(worker, 'close');
  const reported = { open: 0, put: 0, trained: 0 };
  let seen = 0;
  for await (const line of createInterface({ input: worker.stdout })) {
    const [what, step] = line.split(' ') as [keyof typeof reported, string | undefined];
    reported[what] = Number(step ?? 1);
    if (++seen === lines) setTimeout(() => worker.kill('SIGKILL'), delay);
  }
  expect(await ended).toEqual([null, 'SIGKILL']);
  return reported;
}

const numbers = (lease: Lease | undefined): readonly unknown[] =>
  (lease?.experiences ?? []).map((experience) => experience.info['n']);
const range = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

it('loses nothing and doubles nothing when its process is killed again and again', async () => {
  const path = join(folder, 'experiences.db');
  const random = createRandom(8);
  for (let round = 0; round < 6; round++) {
    const reported = await workAndDie(path, 1 + random.integer(40), random.next() * 4);

    const store = sqliteExperienceStore({ path });
    const { total, waiting, leased, trained } = await store.counts();
    const { step } = ((await store.explorerState()) ?? { step: 0 }) as { step: number };
    expect(step).toBeGreaterThanOrEqual(reported.put);
    expect(total).toBe(step * putSize);
    expect(trained).toBeGreaterThanOrEqual(reported.trained * batchSize);
    expect(trained % batchSize).toBe(0);
    expect({ leased, waiting }).toEqual({ leased: 0, waiting: total - trained });

    // The remaining rows are exactly those that were not trained on, complete and in order.
    store.finish();
    expect(numbers(await store.take(total + 1))).toEqual(range(trained, total));
    await store.close();
  }

  const store = sqliteExperienceStore({ path });
  const { total } = await store.counts();
  await store.rollback(0);
  store.finish();
  expect(numbers(await store.take(total + 1))).toEqual(range(0, total));
  await store.close();
}, 60_000);
