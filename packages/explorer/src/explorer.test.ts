import {
  createExperience,
  type Experience,
  type ExperienceStore,
  type Task,
} from '@trinity-rft/core';
import { defaultFormatArgs } from '@trinity-rft/core/internal';
import { testRuntime } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { describe, expect, it } from 'vitest';
import { createExplorer } from './explorer.js';
import type { ExploreSync, TaskFeed } from './explorer-options.js';

const taskOf = (step: number): Task => ({
  taskId: 0,
  batchId: step,
  workflow: 'agent',
  rawTask: {},
  formatArgs: defaultFormatArgs,
  rolloutArgs: {},
  workflowArgs: {},
  rewardFnArgs: {},
  repeatTimes: 1,
  isEval: false,
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
