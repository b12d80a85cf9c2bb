import type { LateRewards } from '@trinity-rft/core/store';
import { testRuntime } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import type { ExploreProgress } from './explorer-options.js';
import { createLateGroups, type LateGroups } from './late-groups.js';

/** Groups over a store in which `open` rollouts wait and the groups of `due` do not. */
function groupsOver(open: readonly string[], due: readonly string[]): LateGroups {
  const lateRewards: Partial<LateRewards> = {
    waiting: () => open.map((run) => ({ run, deadline: 1 })),
    due: () => due.map((task) => ({ task, step: 1, runs: [] })),
    commit: () => undefined,
  };
  return createLateGroups({
    store: { lateRewards },
    settings: {},
    runtime: testRuntime(),
  } as unknown as Parameters<typeof createLateGroups>[0]);
}

describe('groups that wait for rewards', () => {
  it('continue if each waits in the store or is due', async () => {
    const late = groupsOver(['1/0/3'], ['1/1']);
    late.restore(1, ['1/0', '1/1']);
    late.take(2);
    expect(late.waiting()).toEqual(['1/0']);
    await groupsOver([], ['1/1']).untilDue(new AbortController().signal);
  });

  it('are not read while one of them still waits', async () => {
    const runtime = testRuntime();
    let reads = 0;
    const lateRewards: Partial<LateRewards> = {
      waiting: () => [{ run: '1/0/3', deadline: 10_000 }],
      due: (now) => {
        reads++;
        return now < 10_000 ? [] : [{ task: '1/0', step: 1, runs: [] }];
      },
      commit: () => undefined,
    };
    const events: unknown[] = [];
    const late = createLateGroups({
      store: { lateRewards },
      settings: {},
      runtime,
      onProgress: (progress: ExploreProgress) => events.push(progress),
      onPause: (what: string) => {
        events.push(what);
        return () => events.push('over');
      },
    } as unknown as Parameters<typeof createLateGroups>[0]);
    late.restore(1, ['1/0']);
    reads = 0;
    const ended = late.untilDue(new AbortController().signal);
    await runtime.clock.advance(9_999);
    expect([reads, runtime.clock.sleeping]).toEqual([0, 1]);
    const what = 'waiting for the rewards of 1 task';
    const begun = [{ what, total: 1 }, 'the rewards of 1 task'];
    expect(events).toEqual(begun);
    await runtime.clock.advance(500);
    await ended;
    expect(events).toEqual([...begun, 'over', { what, total: 1, done: 1 }]);
    expect(reads).toBe(0);
    late.take(2);
    expect([reads, late.waiting()]).toEqual([1, undefined]);
  });

  it('are counted anew as their rewards arrive', async () => {
    const runtime = testRuntime();
    let open = ['1/0/0', '1/0/1', '1/1/0'];
    const shown: string[] = [];
    const late = createLateGroups({
      store: {
        lateRewards: {
          waiting: () => open.map((run) => ({ run, deadline: Infinity })),
          due: () => ['1/0', '1/1', '1/2'].map((task) => ({ task, step: 1, runs: [] })),
          commit: () => undefined,
        },
      },
      settings: {},
      runtime,
      onPause: (what: string) => {
        shown.push(what);
        return () => shown.push('over');
      },
    } as unknown as Parameters<typeof createLateGroups>[0]);
    late.restore(1, ['1/0', '1/1', '1/2']);
    const ended = late.untilDue(new AbortController().signal);
    for (const rest of [['1/0/1', '1/1/0'], ['1/1/0'], []]) {
      open = rest;
      await runtime.clock.advance(500);
    }
    await ended;
    const [two, one] = ['the rewards of 2 tasks', 'the rewards of 1 task'];
    expect(shown).toEqual([two, 'over', one, 'over']);
    await late.untilDue(new AbortController().signal);
    expect(shown).toHaveLength(4);
  });

  it('are refused by name if the store does not contain them', () => {
    const lost = expect.objectContaining({
      code: 'LATE_REWARDS_LOST',
      details: { tasks: ['1/1'] },
    }) as Error;
    expect(() => groupsOver(['1/0/3'], []).restore(1, ['1/0', '1/1'])).toThrow(lost);
  });

  it('are not awaited for ever if the store loses them', async () => {
    const open = ['1/0/3'];
    const late = groupsOver(open, []);
    late.restore(1, ['1/0']);
    open.pop();
    await late.untilDue(new AbortController().signal);
    expect(() => late.take(2)).toThrow('such as task 1/0');
  });
});
