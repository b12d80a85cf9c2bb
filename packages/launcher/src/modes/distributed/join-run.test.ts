import type { MemberState, RunStore } from '@trinity-rft/core/store';
import { testRuntime } from '@trinity-rft/testing';
import { expect, it } from 'vitest';
import { joinRun } from './join-run.js';

it('reports a wait on people with its heartbeats, without a line in the log per minute', async () => {
  const { clock } = testRuntime();
  const [lines, beats]: [string[], MemberState[]] = [[], []];
  const log = (line: string): void => void lines.push(line);
  const store: Partial<RunStore> = {
    join: async () => ({ epoch: 1 }) as never,
    heartbeat: async (_, beat) => void beats.push(beat),
    leave: async () => undefined,
  };
  const joined = await joinRun({
    store: store as RunStore,
    role: 'trainer',
    name: 'trainer',
    clock,
    logger: { info: log, warn: log, debug: log, error: log } as never,
    state: () => ({ version: 0, facts: {} }),
    signal: new AbortController().signal,
  });
  const end = joined.showWait('the rewards of 4 tasks');
  for (let second = 0; second < 200; second++) await clock.advance(1000);
  expect(beats.at(-1)?.waits).toMatchObject([{ what: 'the rewards of 4 tasks', forMs: 200_000 }]);
  end();
  await clock.advance(1000);
  expect(beats.at(-1)?.waits).toEqual([]);
  expect(lines).toEqual([]);
  await joined.leave();
});
