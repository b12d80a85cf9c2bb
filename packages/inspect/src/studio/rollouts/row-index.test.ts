import type { ExperienceReader } from '@trinity-rft/buffer';
import { expect, it } from 'vitest';
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
