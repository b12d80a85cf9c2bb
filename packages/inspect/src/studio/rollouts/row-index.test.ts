import type { ExperienceReader } from '@trinity-rft/buffer';
import { createExperience, uid, type Eid } from '@trinity-rft/core';
import { encodeExperience } from '@trinity-rft/core/store';
import { describe, expect, it } from 'vitest';
import { createRowIndex } from './row-index.js';
import { noToolCalls } from './tool-calls.js';

it('counts no deleted rows among those that were read', async () => {
  let ids = [1, 2, 3];
  const after = (last: number) => ids.filter((id) => id > last);
  const info = {};
  const reader = {
    count: () => ids.length,
    namesAfter: (last: number) => after(last).map((id) => ({ id, uid: `1/${id}/0/0/` })),
    headsAfter: (last: number) =>
      after(last).map((id) => ({
        ...{ id, info, eid: { batch: 1, task: id, run: 0, step: 0, suffix: '' }, policyVersion: 0 },
        ...{ tokens: Int32Array.of(1, 2), promptLength: 1, actionMask: Uint8Array.of(1) },
      })),
    usesAfter: () => [],
  } as unknown as ExperienceReader;
  const index = createRowIndex(reader, async () => noToolCalls);
  await index.catchUp();
  expect(index.progress(3)).toEqual({ done: 3, of: 3 });
  const before = index.revision();
  ids = [3, 4, 5];
  await index.catchUpNames();
  expect(index.revision()).toBeGreaterThan(before);
  expect(index.progress(3)).toEqual({ done: 1, of: 3 });
  await index.catchUp();
  expect(index.progress(3)).toEqual({ done: 3, of: 3 });
});

describe('names with slashes', () => {
  /** Creates a reader of rows with these eids, whose ids begin at 1. */
  const readerOf = (eids: readonly Eid[], bytesOf: (id: number) => Uint8Array) =>
    ({
      count: () => eids.length,
      namesAfter: (last: number, limit: number) =>
        eids.slice(last, last + limit).map((eid, i) => ({ id: last + i + 1, uid: uid(eid) })),
      bytesOf,
    }) as unknown as ExperienceReader;
  const eidOf = (batch: string, task: string | number): Eid => ({
    ...{ batch, task, run: 0, step: 0, suffix: '0' },
  });
  const stored = (eid: Eid): Uint8Array =>
    encodeExperience(
      createExperience({
        ...{ eid, tokens: [1, 2], promptLength: 1, logprobs: [-1], policyVersion: 0 },
        temperature: 1,
      }),
    );

  it('are read from the records, of which a damaged one is named by its uid', async () => {
    const eids = [eidOf('12/set', 1), eidOf('12/set', 2), eidOf('12', 'order/1')];
    const bytes = eids.map(stored);
    bytes[1] = Uint8Array.of(0, 255, 0, 255);
    const reader = readerOf(eids, (id) => bytes[id - 1] ?? Uint8Array.of());
    const { columns, catchUpNames } = createRowIndex(reader, async () => noToolCalls);
    await catchUpNames();
    const names = eids.map((_, i) => [columns.batch.at(i), columns.task.at(i)]);
    expect(names).toEqual([
      ['12/set', '1'],
      ['12/set', '2'],
      ['12', 'order/1'],
    ]);
  });

  it('let other requests run while many records are read', async () => {
    const eids = Array.from({ length: 2000 }, (_, task) => eidOf('12/set', task));
    const record = stored(eidOf('12/set', 0));
    let [readAtOnce, mostAtOnce] = [0, 0];
    const reader = readerOf(eids, () => {
      mostAtOnce = Math.max(mostAtOnce, ++readAtOnce);
      return record;
    });
    let isDone = false;
    const otherRequest = (): void => {
      readAtOnce = 0;
      if (!isDone) setImmediate(otherRequest);
    };
    setImmediate(otherRequest);
    await createRowIndex(reader, async () => noToolCalls).catchUpNames();
    isDone = true;
    expect(mostAtOnce).toBe(32);
  });
});
