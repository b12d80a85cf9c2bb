import { createExperience, type Experience, type Task } from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { testRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { describe, expect, it } from 'vitest';
import { createExplorer } from './explorer.js';
import type { ExploreSync, TaskFeed } from './explorer-options.js';
import { exploreStreaming } from './streaming.js';

const taskOf = (step: number): Task =>
  testTask({
    batchId: step,
    workflow: 'agent',
    repeatTimes: 1,
    index: { taskset: 'set', row: step },
  });

const experience = (): Experience =>
  createExperience({
    tokens: [1, 2],
    promptLength: 1,
    logprobs: [-1],
    reward: 1,
    policyVersion: 0,
    temperature: 1,
  });

/** One task for each of six explore steps; weights move after steps 4 and 8. */
const feed: TaskFeed = {
  next: async (step) => (step <= 6 ? [taskOf(step)] : []),
  state: () => ({}),
  restore: () => undefined,
};

/** Runs six explore steps and reports what happened in which order. */
async function explore(maxInflightBatches: number | undefined) {
  const events: string[] = [];
  let inFlight = 0;
  let mostInFlight = 0;
  const agent = defineWorkflow({
    name: 'agent',
    run: async ({ task }) => {
      mostInFlight = Math.max(mostInFlight, ++inFlight);
      // Later steps are faster, so that their runs end before those of earlier steps.
      for (let turn = Number(task.batchId); turn < 8; turn++) await Promise.resolve();
      inFlight--;
      return [experience()];
    },
  });
  const sync: ExploreSync = {
    isBoundary: (step) => step % 4 === 0,
    exploreBoundary: async () => {
      events.push('sync');
      return { outcome: 'updated', version: 1 };
    },
  };
  const store = {
    put: async (_batch: readonly Experience[], state: { readonly step: number }) =>
      void events.push(`stored ${state.step}`),
  } as unknown as ExperienceStore;
  const explorer = createExplorer({
    settings: {
      concurrency: 16,
      maxInflightBatches,
      maxTimeoutMs: 1000,
      maxRetryTimes: 0,
      evalOnStartup: false,
    },
    feed,
    evalSets: [],
    workflow: () => agent,
    rewardFn: () => undefined,
    createModel: () => ({
      model: { extractExperiencesFromHistory: () => [] } as unknown as AgentModel,
      auxiliaryModels: new Map(),
      metrics: () => ({}),
      longestPauseMs: () => 0,
    }),
    policyVersion: () => 0,
    store,
    sync,
    sink: { write: () => undefined, close: async () => undefined },
    runtime: testRuntime(),
    signal: new AbortController().signal,
  });
  const steps = await explorer.run();
  return { steps, events, mostInFlight };
}

describe('explore steps without meeting points', () => {
  /** Explores four steps, two in flight; `step` may begin once `allow(step)` was called. */
  async function stream() {
    const events: string[] = [];
    const open = new Map<number, () => void>();
    const state = { allowed: 1 };
    const waits = new Set<() => void>();
    const explored = exploreStreaming(
      {
        streaming: {
          mayBegin: (step) => step <= state.allowed,
          whenItMay: async (step, signal) => {
            while (step > state.allowed && !signal?.aborted)
              await new Promise<void>((resolve) => waits.add(resolve));
          },
        },
        most: 2,
        start: async (step) => {
          if (step > 4) return undefined;
          const { promise, resolve } = Promise.withResolvers<void>();
          open.set(step, resolve);
          events.push(`begin ${step}`);
          return { step, promise };
        },
        ended: ({ promise }) => promise,
        finish: async ({ step, promise }) => {
          await promise;
          events.push(`finish ${step}`);
        },
        idle: (wait) => wait(),
        signal: new AbortController().signal,
      },
      0,
    );
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    return {
      events,
      explored,
      allow: async (step: number) => {
        state.allowed = step;
        for (const wake of waits) wake();
        await settle();
      },
      end: async (step: number) => {
        open.get(step)?.();
        await settle();
      },
    };
  }

  it('begin while others are in flight, and are finished in order', async () => {
    const { events, explored, allow, end } = await stream();
    await allow(2);
    expect(events).toEqual(['begin 1', 'begin 2']);
    await allow(5);
    await end(2);
    // Two are in flight until the first has been finished, whichever ends first.
    expect(events).toEqual(['begin 1', 'begin 2']);
    await end(1);
    expect(events.slice(2)).toEqual(['finish 1', 'begin 3', 'finish 2', 'begin 4']);
    await end(3);
    await end(4);
    expect([await explored, events.slice(6)]).toEqual([4, ['finish 3', 'finish 4']]);
  });

  it('are finished while the next one waits for its turn', async () => {
    const { events, allow, end } = await stream();
    await allow(1);
    await end(1);
    expect(events).toEqual(['begin 1', 'finish 1']);
    await allow(2);
    expect(events.slice(2)).toEqual(['begin 2']);
  });
});

describe('explore steps in flight', () => {
  it.each([
    { maxInflightBatches: 1, expected: 1 },
    { maxInflightBatches: 3, expected: 3 },
    { maxInflightBatches: undefined, expected: 4 },
  ])('are at most $expected with $maxInflightBatches', async ({ maxInflightBatches, expected }) => {
    expect((await explore(maxInflightBatches)).mostInFlight).toBe(expected);
  });

  it.each([1, 3, undefined])('are stored in order, weights move between them: %s', async (most) => {
    const { steps, events } = await explore(most);
    expect(steps).toBe(6);
    expect(events.join(', ')).toBe(
      'stored 1, stored 2, stored 3, stored 4, sync, stored 5, stored 6',
    );
  });
});
