import {
  createExperience,
  runKey,
  type AdvantageFn,
  type Experience,
  type ExperienceOperator,
  type Metrics,
  type Task,
  groupBy,
  taskKey,
} from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { testRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel } from '@trinity-rft/workflow';
import { expect, it } from 'vitest';
import type { DynamicSampling } from './explorer-options.js';
import type { ExplorerState, TaskFeed } from './explorer-options.js';
import { createExplorer } from './explorer.js';

const batchSize = 4;
const repeatTimes = 2;
const full = batchSize * repeatTimes;

const taskOf = (batchId: number, taskId: number, row: number): Task =>
  testTask({
    taskId,
    batchId,
    workflow: 'agent',
    rawTask: { row },
    repeatTimes,
    index: { taskset: 'set', row },
  });

/** Rows 0, 1, 2, ... up to `size`. */
function feedOf(size: number): TaskFeed {
  let cursor = 0;
  return {
    next: async (step, { count, firstTask } = { count: batchSize, firstTask: 0 }) => {
      const drawn = Math.min(count, size - cursor);
      cursor += drawn;
      return Array.from({ length: drawn }, (_, i) =>
        taskOf(step, firstTask + i, cursor - drawn + i),
      );
    },
    state: () => ({ cursor }),
    restore: (state) => {
      cursor = Number(state['cursor']);
    },
  };
}

/** Drops groups whose rewards are all equal. */
const differing: ExperienceOperator = {
  name: 'differing',
  apply: (experiences) => {
    const groups = [...groupBy(experiences, ({ eid }) => taskKey(eid)).values()];
    const kept = groups.filter((group) => new Set(group.map(({ reward }) => reward)).size > 1);
    return { experiences: kept.flat(), metrics: { filtered_count: 0 } };
  },
};

interface Step {
  readonly state: ExplorerState;
  readonly runs: readonly string[];
  readonly metrics: Metrics;
}

interface Scene {
  readonly size: number;
  readonly maxSteps: number;
  /** True if the rewards of the runs of this row differ. */
  readonly differs: (row: number) => boolean;
  readonly dynamicSampling?: Partial<DynamicSampling>;
  readonly advantage?: AdvantageFn;
  readonly from?: ExplorerState;
}

async function explore({ size, maxSteps, differs, dynamicSampling, advantage, from }: Scene) {
  const steps: Step[] = [];
  let metrics: Metrics = {};
  const runtime = testRuntime();
  const explorer = createExplorer({
    settings: { concurrency: 16, maxTimeoutMs: 1000, maxRetryTimes: 0, evalOnStartup: false },
    dynamicSampling: { batchSize, repeatTimes, unit: 'runs', maxBatches: 10, ...dynamicSampling },
    maxSteps,
    feed: feedOf(size),
    evalSets: [],
    workflow: () =>
      defineWorkflow({
        name: 'agent',
        run: ({ task, model }) => {
          const run = (model as unknown as { run: number }).run;
          const reward = differs(Number(task.rawTask['row'])) ? run : 0;
          const tokens = { tokens: [1, run], promptLength: 1, logprobs: [-1] };
          return [createExperience({ ...tokens, reward, policyVersion: 0, temperature: 1 })];
        },
      }),
    rewardFn: () => undefined,
    createModel: ({ run }) => ({
      model: { run, extractExperiencesFromHistory: () => [] } as unknown as AgentModel,
      auxiliaryModels: new Map(),
      metrics: () => ({}),
      longestPauseMs: () => 0,
    }),
    policyVersion: () => 0,
    operators: [differing],
    advantage,
    store: {
      put: async (batch: readonly Experience[], state: ExplorerState) =>
        void steps.push({ state, runs: batch.map(({ eid }) => runKey(eid)), metrics }),
    } as unknown as ExperienceStore,
    sync: {
      isBoundary: () => true,
      isSyncPoint: () => true,
      exploreBoundary: async () => ({ outcome: 'updated', version: 0 }),
    },
    sink: { write: (record) => void (metrics = record.metrics), close: async () => undefined },
    runtime,
    signal: new AbortController().signal,
  });
  await explorer.run(from);
  const warnings = runtime.logger.lines.filter(({ level }) => level === 'warn');
  return { steps, warnings: warnings.map(({ message }) => message) };
}

const of = ({ metrics }: Step, name: string): number | undefined =>
  metrics[`rollout/dynamic_sampling/${name}`];

const oneInThree = { size: 1000, maxSteps: 6, differs: (row: number) => row % 3 === 0 };

it('draws tasks until every step completes a batch of groups that differ, and drops none of them', async () => {
  const { steps, warnings } = await explore(oneInThree);
  let stored = 0;
  for (const step of steps) {
    stored += step.runs.length;
    expect(Math.floor(stored / full)).toBe(step.state.step);
    expect([of(step, 'missing'), of(step, 'bound_hit')]).toEqual([0, 0]);
    expect(of(step, 'carried')).toBe(stored % full);
    expect(of(step, 'tasks')).toBeGreaterThan(batchSize);
  }
  expect(steps).toHaveLength(6);
  // Every third task is usable, so six batches need three times as many tasks; at most one batch
  // more was drawn.
  expect(steps.at(-1)!.state.feed['cursor']).toBeLessThan(6 * batchSize * 3 + batchSize);
  expect(new Set(steps.flatMap(({ runs }) => runs)).size).toBe(stored);
  expect(warnings).toEqual([]);
});

it('continues after any step as if it had never been stopped', async () => {
  const whole = await explore(oneInThree);
  for (const [index, { state }] of whole.steps.entries()) {
    const from = JSON.parse(JSON.stringify(state)) as ExplorerState;
    const { steps } = await explore({ ...oneInThree, from });
    expect(steps.map(({ runs }) => runs)).toEqual(
      whole.steps.slice(index + 1).map(({ runs }) => runs),
    );
  }
});

it('counts copies of runs, as the store does', async () => {
  const twice: AdvantageFn = (experiences) => ({
    experiences: [experiences, experiences].flat(),
    metrics: {},
  });
  const half = (row: number): boolean => row % 2 === 0;
  const { steps } = await explore({ size: 8, maxSteps: 2, differs: half, advantage: twice });
  expect(steps.map((step) => [of(step, 'tasks'), of(step, 'kept')])).toEqual([
    [4, 8],
    [4, 8],
  ]);
});

it('stops at its bound, says so, and the next step makes what is missing', async () => {
  const { steps, warnings } = await explore({
    ...oneInThree,
    maxSteps: 3,
    differs: (row) => row === 6 || row >= 8,
    dynamicSampling: { maxBatches: 2 },
  });
  expect(steps.map((step) => [of(step, 'tasks'), of(step, 'kept'), of(step, 'bound_hit')])).toEqual(
    [
      [8, 2, 1],
      [3, 6, 0],
      [4, 8, 0],
    ],
  );
  expect(warnings).toEqual([
    expect.stringContaining('drew 8 tasks, as many as explorer.dynamic_sampling.max_batches 2'),
  ]);
});

it('ends with the tasks, and stores what there is', async () => {
  const { steps } = await explore({ ...oneInThree, size: 20 });
  expect(steps.flatMap(({ runs }) => runs)).toHaveLength(7 * repeatTimes);
  expect(of(steps.at(-1)!, 'missing')).toBe(2);
  expect(of(steps.at(-1)!, 'bound_hit')).toBe(0);
});
