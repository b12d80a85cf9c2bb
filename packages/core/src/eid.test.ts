import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emptyEid, groupBy, runKey, stepKey, taskKey, uid, type Eid } from './eid.js';

const eid = (path: string): Eid => {
  const [batch, task, run, step] = path.split('/').map(Number) as [number, number, number, number];
  return { batch, task, run, step, suffix: '' };
};

describe('keys of an experience id', () => {
  it('name the experience, its run, its task and its step', () => {
    const id: Eid = { batch: 1, task: 2, run: 3, step: 4, suffix: 'abc123' };
    expect([uid(id), stepKey(id), runKey(id), taskKey(id)]).toEqual([
      '1/2/3/4/abc123',
      '1/2/4',
      '1/2/3',
      '1/2',
    ]);
  });

  it('exist for an empty id and for named batches', () => {
    expect(uid(emptyEid)).toBe('//0/0/');
    expect(taskKey({ ...emptyEid, batch: '3/eval', task: 7 })).toBe('3/eval/7');
  });
});

describe('groupBy', () => {
  // The case `group_by` of the original: 0/0/0/0, 0/0/1/0, 0/0/0/1, 0/1/0/0.
  const ids = ['0/0/0/0', '0/0/1/0', '0/0/0/1', '0/1/0/0'].map(eid);
  it.each([
    ['task', taskKey, { '0/0': [0, 1, 2], '0/1': [3] }],
    ['run', runKey, { '0/0/0': [0, 2], '0/0/1': [1], '0/1/0': [3] }],
    ['step', stepKey, { '0/0/0': [0, 1], '0/0/1': [2], '0/1/0': [3] }],
  ])('groups by %s in order of first appearance', (_name, keyOf, expected) => {
    const groups = groupBy(ids.entries().toArray(), ([, id]) => keyOf(id));
    expect(
      Object.fromEntries(
        [...groups].map(([key, members]) => [key, members.map(([index]) => index)]),
      ),
    ).toEqual(expected);
    expect([...groups.keys()]).toEqual(Object.keys(expected));
  });

  it('is a partition: every item in exactly one group, the one of its key, in its old order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ key: fc.string({ maxLength: 2 }), value: fc.nat() })),
        (items) => {
          const groups = groupBy(items, ({ key }) => key);
          expect([...groups.values()].flat()).toHaveLength(items.length);
          for (const [key, members] of groups)
            expect(members).toEqual(items.filter((item) => item.key === key));
        },
      ),
    );
  });
});
