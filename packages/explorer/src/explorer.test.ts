import {
  createExperience,
  type Experience,
  type ExperienceOperator,
  type Task,
} from '@trinity-rft/core';
import type { ExperienceStore } from '@trinity-rft/core/store';
import { testRuntime, testTask } from '@trinity-rft/testing';
import { defineWorkflow, type AgentModel, type WorkflowDefinition } from '@trinity-rft/workflow';
import { describe, expect, it } from 'vitest';
import { createExplorer, type Explorer } from './explorer.js';
import type { ExplorerOptions, ExplorerState, ExploreSync, TaskFeed } from './explorer-options.js';

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

/** Feed with one task for each of six explore steps. */
const feed: TaskFeed = {
  next: async (step) => (step <= 6 ? [taskOf(step)] : []),
  state: () => ({}),
  restore: () => undefined,
};

/** An explorer whose stored steps become events. */
function explorerOf(
  events: string[],
  agent: WorkflowDefinition,
  {
    maxInflightBatches,
    evalInterval,
    onStored,
    ...parts
  }: Pick<ExplorerOptions, 'sync' | 'operators' | 'runTasks' | 'onProgress'> & {
    readonly feed?: TaskFeed;
    readonly evalSets?: ExplorerOptions['evalSets'];
    readonly evalInterval?: number;
    readonly maxInflightBatches?: number | undefined;
    readonly onStored?: (state: ExplorerState) => void;
  },
): Explorer {
  const store = {
    put: async (batch: readonly Experience[], state: ExplorerState) => {
      if (batch.length > 0) events.push(`stored ${state.step}`);
      onStored?.(state);
    },
  } as unknown as ExperienceStore;
  return createExplorer({
    settings: {
      concurrency: 16,
      maxInflightBatches,
      maxTimeoutMs: 1000,
      maxRetryTimes: 0,
      evalOnStartup: false,
      evalInterval,
    },
    feed,
    evalSets: [],
    ...parts,
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
    sink: { write: () => undefined, close: async () => undefined },
    runtime: testRuntime(),
    signal: new AbortController().signal,
  });
}

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
    isSyncPoint: (step) => step % 4 === 0,
    exploreBoundary: async () => {
      events.push('sync');
      return { outcome: 'updated', version: 1 };
    },
  };
  const steps = await explorerOf(events, agent, { sync, maxInflightBatches }).run();
  return { steps, events, mostInFlight };
}

it('shows explore steps whose rollouts other processes make, without counting them', async () => {
  const shown: string[] = [];
  const agent = defineWorkflow({ name: 'agent', run: async () => 0 });
  const sync: ExploreSync = {
    isBoundary: () => false,
    isSyncPoint: () => false,
    exploreBoundary: () => Promise.reject(new Error('There is no boundary.')),
  };
  const run = { status: 'ok', run: 0, reward: 1, metrics: { reward: 1 }, seconds: 1 } as const;
  await explorerOf([], agent, {
    sync,
    maxInflightBatches: 1,
    onProgress: ({ what, done, total }) => void shown.push(`${what}: ${done} of ${total}`),
    runTasks: async (tasks) =>
      tasks.map((task) => ({
        task,
        runs: [{ ...run, experiences: [experience()] }],
        ...{ retries: 0, timeouts: 0, seconds: 1 },
      })),
  }).run();
  expect(shown.slice(0, 3)).toEqual([
    'explore step 1: undefined of 1',
    'explore step 1: 1 of 1',
    'explore step 2: undefined of 1',
  ]);
});

describe('explore steps without meeting points', () => {
  /** Explores six steps, two in flight; `step` may begin once `allow(step)` was called. */
  function stream() {
    const events: string[] = [];
    const open = new Map<number, () => void>();
    const state = { allowed: 1 };
    const waits = new Set<() => void>();
    const agent = defineWorkflow({
      name: 'agent',
      run: async ({ task }) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        open.set(Number(task.batchId), resolve);
        events.push(`begin ${task.batchId}`);
        await promise;
        return [experience()];
      },
    });
    const sync: ExploreSync = {
      isBoundary: () => false,
      isSyncPoint: () => false,
      exploreBoundary: () => Promise.reject(new Error('There is no boundary.')),
      streaming: {
        mayBegin: (step) => step <= state.allowed,
        whenItMay: async (step, signal) => {
          while (step > state.allowed && !signal?.aborted)
            await new Promise<void>((resolve) => waits.add(resolve));
        },
      },
    };
    const explored = explorerOf(events, agent, { sync }).run();
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
    };
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
    const { events, explored, allow, end } = stream();
    await allow(2);
    expect(events).toEqual(['begin 1', 'begin 2']);
    await allow(7);
    await end(2);
    // Two are in flight until the first has been finished, whichever ends first.
    expect(events).toEqual(['begin 1', 'begin 2']);
    await end(1);
    expect(events.slice(2)).toEqual(['stored 1', 'begin 3', 'stored 2', 'begin 4']);
    await end(4);
    await end(3);
    await end(5);
    await end(6);
    expect([await explored, events.slice(6)]).toEqual([
      6,
      ['stored 3', 'begin 5', 'stored 4', 'begin 6', 'stored 5', 'stored 6'],
    ]);
  });

  it('are finished while the next one waits for its turn', async () => {
    const { events, explored, allow, end } = stream();
    await allow(1);
    await end(1);
    expect(events).toEqual(['begin 1', 'stored 1']);
    await allow(2);
    expect(events.slice(2)).toEqual(['begin 2']);
    // Runs that have not ended would still watch `fetch` in the next test files.
    await allow(7);
    for (const step of [2, 3, 4, 5, 6]) await end(step);
    expect(await explored).toBe(6);
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

describe('an evaluation that fails', () => {
  it('loses no explore step, and is made first when the explorer resumes', async () => {
    const events: string[] = [];
    const states: ExplorerState[] = [];
    const agent = defineWorkflow({
      name: 'agent',
      run: async ({ task }) => {
        events.push(`explored ${task.batchId}`);
        return [experience()];
      },
    });
    const sync: ExploreSync = {
      isBoundary: (step) => step === 4,
      isSyncPoint: (step) => step === 4,
      exploreBoundary: async () => {
        events.push('sync');
        return { outcome: 'updated', version: 1 };
      },
      hold: (step) => void events.push(`held ${step}`),
      exploreStepStored: (step) => void (step >= 4 && events.push(`given ${step}`)),
    };
    let works = false;
    const tasks = async (step: number): Promise<readonly Task[]> => {
      if (!works) throw new Error('The file of the evaluation cannot be read.');
      events.push(`evaluated ${step}`);
      return [];
    };
    const explorer = explorerOf(events, agent, {
      sync,
      evalSets: [{ name: 'held_out', tasks }],
      evalInterval: 4,
      maxInflightBatches: 1,
      onStored: (state) => void states.push(state),
    });
    await expect(explorer.run()).rejects.toThrow('cannot be read');
    expect(events.splice(0).slice(-3)).toEqual(['explored 4', 'held 4', 'stored 4']);
    works = true;
    await explorer.run(states.at(-1));
    expect(events.slice(0, 4)).toEqual(['evaluated 4', 'given 4', 'sync', 'explored 5']);
    expect(states.at(-1)?.evaluationDue).toBe(false);
  });
});

describe('results', () => {
  /** An operator that reports one result for each explore step. */
  const reports = {
    name: 'reports',
    apply: (experiences: readonly Experience[]) => ({
      experiences,
      metrics: {},
      feedback: experiences.map(({ eid }) => ({ taskset: 'set', row: eid.batch, correct: 1 })),
    }),
  } as unknown as ExperienceOperator;

  /** Explores six steps with a synchronization point after every second one. */
  async function exploreWith(moves: boolean, from?: ExplorerState) {
    let received: readonly number[] = [];
    const knownAt: Record<number, readonly number[]> = {};
    const states: ExplorerState[] = [];
    let passed = from ? Math.floor((from.step - 1) / 2) * 2 : 0;
    const isSyncPoint = (step: number): boolean => step > 0 && step % 2 === 0;
    const sync: ExploreSync = {
      isSyncPoint,
      // A point that was passed is no boundary any more.
      isBoundary: (step) => moves && isSyncPoint(step) && step > passed,
      exploreBoundary: async (step) => {
        passed = step;
        return { outcome: 'updated', version: 1 };
      },
    };
    const resultsFeed: TaskFeed = {
      ...feed,
      next: (step) => {
        knownAt[step] = received;
        return feed.next(step);
      },
      feedback: (feedback) => (received = [...received, ...feedback.map(({ row }) => row)]),
      state: () => ({ received }),
      restore: (state) => (received = state['received'] as readonly number[]),
    };
    const agent = defineWorkflow({ name: 'agent', run: async () => [experience()] });
    const onStored = (state: ExplorerState): void => void states.push(state);
    const options = { sync, feed: resultsFeed, operators: [reports], maxInflightBatches: 2 };
    await explorerOf([], agent, { ...options, onStored }).run(from);
    return { knownAt, states };
  }

  it('reach the feed at every synchronization point, also after a resume', async () => {
    const whole = await exploreWith(true);
    const expected = { 1: [], 2: [], 3: [1, 2], 4: [1, 2], 5: [1, 2, 3, 4], 6: [1, 2, 3, 4] };
    expect(whole.knownAt).toEqual({ ...expected, 7: [1, 2, 3, 4, 5, 6] });
    for (const state of whole.states)
      expect(whole.knownAt).toMatchObject((await exploreWith(true, state)).knownAt);
  });

  it('reach the feed at points where no weights move', async () => {
    const { knownAt, states } = await exploreWith(false);
    expect(knownAt[7]).toContain(4);
    const stored = states.map(({ feedback }) => feedback!.length);
    expect(Math.max(...stored)).toBeLessThan(4);
  });
});
