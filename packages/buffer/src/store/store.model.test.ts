// Random histories of a store, compared with a simple list.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createExperience } from '@trinity-rft/core';
import type { ExperienceStore, Lease } from '@trinity-rft/core/store';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { memoryExperienceStore } from './memory.js';
import { sqliteExperienceStore } from './sqlite.js';

type Fate = 'waiting' | 'leased' | { readonly step: number };
interface Model {
  /** Fate of experience n. */
  readonly fates: Fate[];
  readonly versions: number[];
  step: number;
}
interface Open {
  readonly lease: Lease;
  readonly used: readonly number[];
  readonly stale: readonly number[];
}

const command = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    versions: fc.array(fc.nat({ max: 3 }), { maxLength: 5 }),
  }),
  fc.record({
    do: fc.constant('take' as const),
    count: fc.integer({ min: 1, max: 4 }),
    min: fc.nat({ max: 3 }),
  }),
  fc.record({ do: fc.constantFrom('acknowledge' as const, 'release' as const), which: fc.nat() }),
  fc.record({ do: fc.constant('rollback' as const), back: fc.nat({ max: 3 }) }),
  fc.record({ do: fc.constant('reopen' as const) }),
);

async function play(
  history: readonly (typeof command extends fc.Arbitrary<infer T> ? T : never)[],
  reopen: (old?: ExperienceStore) => Promise<ExperienceStore>,
): Promise<void> {
  const model: Model = { fates: [], versions: [], step: 0 };
  let store = await reopen();
  let open: Open[] = [];
  const seen: unknown[] = [];
  const expected: unknown[] = [];
  const setFate = (numbers: readonly number[], fate: Fate): void => {
    for (const n of numbers) model.fates[n] = fate;
  };
  const where = (is: (fate: Fate) => boolean): number[] =>
    model.fates.flatMap((fate, n) => (is(fate) ? [n] : []));

  for (const event of history) {
    if (event.do === 'put') {
      const first = model.fates.length;
      await store.put(
        event.versions.map((policyVersion, i) =>
          createExperience({
            eid: { task: first + i },
            tokens: [1, 2],
            promptLength: 1,
            policyVersion,
            info: { n: first + i },
          }),
        ),
      );
      model.fates.push(...event.versions.map(() => 'waiting' as const));
      model.versions.push(...event.versions);
    } else if (event.do === 'take') {
      const waiting = where((fate) => fate === 'waiting');
      const used = waiting.filter((n) => model.versions[n]! >= event.min).slice(0, event.count);
      if (used.length < event.count) continue;
      const stale = waiting.filter((n) => n < used.at(-1)! && model.versions[n]! < event.min);
      const lease = (await store.take(event.count, { minPolicyVersion: event.min }))!;
      seen.push([
        lease.experiences.map((experience) => experience.info['n']),
        lease.metrics['sample/stale_dropped'],
      ]);
      expected.push([used, stale.length]);
      setFate([...used, ...stale], 'leased');
      open.push({ lease, used, stale });
    } else if (event.do === 'rollback') {
      model.step = Math.max(0, model.step - event.back);
      await store.rollback(model.step);
      setFate(
        where((fate) => fate === 'leased' || (typeof fate === 'object' && fate.step > model.step)),
        'waiting',
      );
      open = [];
    } else if (event.do === 'reopen') {
      store = await reopen(store);
      setFate(
        where((fate) => fate === 'leased'),
        'waiting',
      );
      open = [];
    } else if (open.length > 0) {
      const [{ lease, used, stale }] = open.splice(event.which % open.length, 1) as [Open];
      if (event.do === 'release') await lease.release();
      else await lease.acknowledge(++model.step);
      setFate([...used, ...stale], event.do === 'release' ? 'waiting' : { step: model.step });
    }
    const { total, waiting, leased } = await store.counts();
    seen.push({ total, waiting, leased });
    const count = (fate: Fate): number => where((other) => other === fate).length;
    expected.push({
      total: model.fates.length,
      waiting: count('waiting'),
      leased: count('leased'),
    });
  }
  await store.close();
  expect(seen).toEqual(expected);
}

it('keeps a memory store in step with its model', async () => {
  const history = fc.array(
    command.filter((event) => event.do !== 'reopen'),
    { maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(history, (events) => play(events, async () => memoryExperienceStore())),
  );
});

it('keeps an SQLite store in step with its model, across openings', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), async (events) => {
      const folder = mkdtempSync(join(tmpdir(), 'trinity-model-'));
      try {
        await play(events, async (old) => {
          await old?.close();
          return sqliteExperienceStore({ path: join(folder, 'x.db') });
        });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    }),
    { numRuns: 40 },
  );
});
