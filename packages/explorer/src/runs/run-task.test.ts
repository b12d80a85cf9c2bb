import { trace, type Span, type SpanStatus } from '@opentelemetry/api';
import {
  createExperience,
  ModelError,
  type Experience,
  type ExperienceInit,
  type Metrics,
  type Task,
  EngineError,
  EnvironmentError,
  RewardError,
  type RewardFn,
  type RewardInput,
} from '@trinity-rft/core';
import { testRuntime, type TestRuntime, testTask } from '@trinity-rft/testing';
import {
  defineWorkflow,
  scoreResponse,
  StepWiseRewardWorkflow,
  Workflow,
  type AgentModel,
  type WorkflowContext,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { PartialGroupError } from '@trinity-rft/workflow/internal';
import { describe, expect, it, vi } from 'vitest';
import { rolloutMetrics } from '../metrics/rollout-metrics.js';
import type { TaskOutcome } from './outcome.js';
import { createInstancePool, type AttemptKey, type RunSettings } from './run-attempt.js';
import { runTask, type RunTaskOptions } from './run-task.js';

const baseTask: Task = testTask({
  taskId: 4,
  batchId: 9,
  repeatTimes: 3,
  index: { taskset: 'set', row: 1 },
});

const unscored = (over: Partial<ExperienceInit> = {}): Experience =>
  createExperience({
    tokens: [1, 2, 3],
    promptLength: 1,
    logprobs: [-1, -2],
    policyVersion: 5,
    temperature: 1,
    ...over,
  });

const experience = (over: Partial<ExperienceInit> = {}): Experience =>
  unscored({ reward: 1, ...over });

/** A model that has recorded `records` calls. */
const fakeModel = (records: readonly Experience[] = []): AgentModel =>
  ({
    extractExperiencesFromHistory: () => records,
    endpoint: () => ({ baseURL: 'http://own/v1' }),
    vocabulary: { size: 100 },
  }) as unknown as AgentModel;

interface Run {
  readonly outcome: Promise<TaskOutcome>;
  readonly runtime: TestRuntime;
  readonly keys: AttemptKey[];
}

function start(
  definition: WorkflowDefinition,
  options: Omit<Partial<RunTaskOptions>, 'settings'> & {
    settings?: Partial<RunSettings>;
    task?: Task;
    records?: readonly Experience[];
    longestPauseMs?: number;
    waitsFor?: () => string | undefined;
    metrics?: Metrics;
    external?: AgentModel;
  } = {},
): Run {
  const runtime = testRuntime();
  const keys: AttemptKey[] = [];
  const outcome = runTask(options.task ?? baseTask, {
    definition,
    createModel: (key) => {
      keys.push(key);
      return {
        model: fakeModel(options.records),
        auxiliaryModels: new Map(),
        external: options.external,
        metrics: () => options.metrics ?? {},
        longestPauseMs: () => options.longestPauseMs ?? 0,
        waitsFor: options.waitsFor,
      };
    },
    limit: (work) => work(),
    pool: createInstancePool(),
    runtime,
    signal: new AbortController().signal,
    ...options,
    settings: { maxTimeoutMs: 1000, maxRetryTimes: 2, ...options.settings },
  });
  return { outcome, runtime, keys };
}

const failures = (outcome: TaskOutcome) =>
  outcome.runs.map((run) => (run.status === 'ok' ? 'ok' : run.kind));

describe('runTask', () => {
  it('gives a workflow a model that it can copy and change', async () => {
    const run = ({ model }: WorkflowContext): readonly Experience[] => {
      const copy = { ...model, modelPath: 'mine' };
      model.extractExperiencesFromHistory = () => [];
      return copy.extractExperiencesFromHistory();
    };
    const { outcome } = start(defineWorkflow({ name: 'w', run }), { records: [experience()] });
    expect(failures(await outcome)).toEqual(['ok', 'ok', 'ok']);
  });

  it('executes every run separately and stamps ids', async () => {
    const { outcome, keys } = start(
      defineWorkflow({
        name: 'w',
        run: () => [
          experience({ eid: { step: 1 } }),
          experience({ eid: { step: 0 }, reward: 0.5 }),
        ],
      }),
    );
    const { runs } = await outcome;
    expect(
      runs.map((run) => run.status === 'ok' && run.experiences.map((item) => item.eid)),
    ).toEqual(
      [0, 1, 2].map((run) => [
        { batch: 9, task: 4, run, step: 0, suffix: '0' },
        { batch: 9, task: 4, run, step: 1, suffix: '1' },
      ]),
    );
    expect(runs[0]).toMatchObject({ reward: 1, metrics: { reward: 1, steps: 2 } });
    expect(keys.map(({ signal }) => signal.aborted)).toEqual([true, true, true]);
  });

  it('tries only the failed run again, with another attempt number', async () => {
    let calls = 0;
    const { outcome, keys } = start(
      defineWorkflow({
        name: 'w',
        run: () => {
          if (++calls === 2) throw new Error('flaky');
          return [experience()];
        },
      }),
    );
    const result = await outcome;
    expect(failures(result)).toEqual(['ok', 'ok', 'ok']);
    expect(result.retries).toBe(1);
    expect(keys.map(({ run, attempt }) => [run, attempt])).toEqual([
      [0, 0],
      [1, 0],
      [2, 0],
      [1, 1],
    ]);
  });

  it('gives up on a run after its retries and keeps the others', async () => {
    const { outcome, runtime } = start(
      defineWorkflow({
        name: 'w',
        run: ({ task }) => {
          if (task.rawTask['fail']) throw new TypeError('cannot read properties of undefined');
          return [experience()];
        },
      }),
      { task: { ...baseTask, rawTask: { fail: true }, repeatTimes: 1 } },
    );
    const result = await outcome;
    expect(result.runs).toMatchObject([
      {
        status: 'failed',
        kind: 'failed',
        error: {
          code: 'WORKFLOW_THREW',
          cause: { message: 'cannot read properties of undefined' },
        },
      },
    ]);
    expect(result.retries).toBe(2);
    expect(runtime.logger.lines.filter(({ level }) => level === 'warn')).toHaveLength(3);
  });

  it.each([
    { error: new Error('flaky'), environmentFailures: 0 },
    { error: new EnvironmentError('is down', { code: 'DOWN' }), environmentFailures: 2 },
  ])('counts attempts beyond the first as retries: $error.name', async (of) => {
    const { outcome, runtime } = start(
      defineWorkflow({ name: 'w', run: () => Promise.reject(of.error) }),
      {
        settings: {
          maxRetryTimes: 1,
          environmentFailures: { maxRetryTimes: 1, maxInRow: 8, maxWaitMs: 1000 },
        },
        task: { ...baseTask, repeatTimes: 1 },
      },
    );
    await runtime.clock.advance(60_000);
    const { retries, environmentFailures } = await outcome;
    expect({ retries, environmentFailures }).toEqual({
      retries: 1,
      environmentFailures: of.environmentFailures,
    });
  });

  it('ends a hanging attempt at its deadline, tells it, and counts it', async () => {
    const signals: AbortSignal[] = [];
    const { outcome, runtime } = start(
      defineWorkflow({
        name: 'w',
        run: ({ signal }) => new Promise<never>(() => signals.push(signal)),
      }),
      {
        settings: { maxRetryTimes: 1 },
        task: { ...baseTask, repeatTimes: 1 },
      },
    );
    await runtime.clock.advance(1000);
    await runtime.clock.advance(1000);
    const result = await outcome;
    expect(failures(result)).toEqual(['timed_out']);
    expect([result.timeouts, result.retries]).toEqual([2, 1]);
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
    expect(runtime.clock.sleeping).toBe(0);
  });

  it('names the service that an attempt waits for at its deadline', async () => {
    const { outcome, runtime } = start(
      defineWorkflow({ name: 'w', run: () => new Promise<never>(() => undefined) }),
      {
        settings: { maxRetryTimes: 0, failureReward: -1 },
        task: { ...baseTask, repeatTimes: 1 },
        waitsFor: () => 'The judge at http://judge',
        records: [unscored()],
      },
    );
    await runtime.clock.advance(1000);
    const { runs } = await outcome;
    expect(runs[0]).toMatchObject({
      status: 'failed',
      error: { code: 'SERVICE_TIMEOUT', message: expect.stringMatching(/waits.*judge/) as string },
    });
  });

  it.each([
    [
      500,
      'service_failed',
      'REWARD_TIMEOUT',
      /: its reward function "never" had not answered after 0\.5 s\. Make/,
    ],
    [501, 'timed_out', 'ATTEMPT_TIMEOUT', /\. Make the workflow "w" faster/],
  ] as const)(
    'names a reward function that has not answered for half of the time, after %i ms',
    async (workMs, kind, code, message) => {
      const { outcome, runtime } = start(
        defineWorkflow({
          name: 'w',
          run: async ({ task, rewardFn, runtime: { clock } }) => {
            await scoreResponse(rewardFn!, task, 'first');
            await clock.sleep(workMs);
            return (await scoreResponse(rewardFn!, task, 'second')).reward;
          },
        }),
        {
          settings: { maxRetryTimes: 0 },
          task: { ...baseTask, repeatTimes: 1, rewardFn: 'never' },
          rewardFn: ({ response }) => (response === 'first' ? 1 : new Promise(() => undefined)),
        },
      );
      await runtime.clock.advance(workMs);
      await runtime.clock.advance(1000 - workMs);
      const { runs, timeouts } = await outcome;
      expect(timeouts).toBe(1);
      expect(runs[0]).toMatchObject({
        kind,
        error: { code, message: expect.stringMatching(message) as string },
      });
    },
  );

  it.each([
    ['nothing', () => undefined as never, 'returned nothing'],
    ['no experiences', () => [], 'returned no experiences'],
    [
      'no reward',
      () => [createExperience({ tokens: [1, 2], promptLength: 1, policyVersion: 0 })],
      'without a reward',
    ],
    [
      'a suffix with the separator of uids',
      () => [experience({ reward: 1, eid: { suffix: 'a/b' } })],
      'the eid.suffix "a/b"',
    ],
    ['NaN', () => Number.NaN, 'NaN'],
    ['a reward of Infinity', () => ({ reward: Infinity }), 'Infinity'],
    [
      'a step reward that is a text',
      () => [experience({ info: { step_reward: '0.5' } })],
      'the info.step_reward "0.5"',
    ],
    [
      'a state that is a list',
      () => [experience({ info: { step_reward: 0.5, env_state_hash: [3] } })],
      'the info.env_state_hash [3]',
    ],
    ['null', () => null as never, 'returned null'],
    ['a text', () => '1' as never, "returned '1'"],
    ['a reward that is a text', () => ({ reward: '1' }) as never, "returned '1' as reward"],
    [
      'metrics that are texts',
      () => ({ reward: 1, metrics: { a: 'b' } }) as never,
      'the metric "a"',
    ],
    ['a promise inside', () => [Promise.resolve(1)] as never, 'returned a Promise that was not'],
    [
      'an experience twice',
      () => [1, 2].map(() => experience({ eid: { suffix: 'a' } })),
      'the experience 9/4/0/0/a twice',
    ],
    [
      'a token that the model does not have',
      () => [experience({ tokens: [1, 2, 100] })],
      'the token id 100, and the model has 100 tokens',
    ],
    ['unknown tokens', () => [experience({ policyVersion: -1 })], 'no recorded call produced'],
  ])('treats %s as a failed run', async (_name, run, message) => {
    const { outcome } = start(defineWorkflow({ name: 'w', run: () => run() }), {
      settings: { maxRetryTimes: 0 },
      records: [experience({ tokens: [9, 9], logprobs: [-1] })],
    });
    const result = await outcome;
    expect(failures(result)).toEqual(['failed', 'failed', 'failed']);
    expect(result.runs[0]).toMatchObject({
      error: { message: expect.stringContaining(message) as string },
    });
  });

  it.each([
    [
      'by its cause',
      new Error('client', {
        cause: new ModelError('too long', { status: 400, code: 'context_length_exceeded' }),
      }),
    ],
    [
      "by an openai client's error",
      Object.assign(new Error('400 too long'), { status: 400, code: 'context_length_exceeded' }),
    ],
  ])('does not try again when the prompt is too long: %s', async (_, error) => {
    const { outcome, keys } = start(
      defineWorkflow({ name: 'w', run: () => Promise.reject(error) }),
    );
    expect(failures(await outcome)).toEqual([
      'prompt_too_long',
      'prompt_too_long',
      'prompt_too_long',
    ]);
    expect(keys).toHaveLength(3);
  });

  it('gives every attempt a row and arguments of its own', async () => {
    const seen: unknown[] = [];
    const task: Task = {
      ...baseTask,
      rawTask: { messages: ['question'] },
      workflowArgs: { tools: ['a'] },
    };
    const { outcome } = start(
      defineWorkflow({
        name: 'w',
        run: ({ task: { rawTask, workflowArgs } }) => {
          seen.push(structuredClone([rawTask, workflowArgs]));
          (rawTask['messages'] as string[]).push('answer');
          (workflowArgs['tools'] as string[]).push('b');
          throw new Error('again');
        },
      }),
      { task },
    );
    await outcome;
    expect(seen).toHaveLength(9);
    expect(new Set(seen.map((each) => JSON.stringify(each)))).toEqual(
      new Set(['[{"messages":["question"]},{"tools":["a"]}]']),
    );
    expect(task.rawTask).toEqual({ messages: ['question'] });
  });

  describe('an agent that calls another model than that of its run', () => {
    const call = { method: 'POST', body: '{"model":"gpt-4o-mini","messages":[]}' };
    const address = 'http://127.0.0.1:1/v1/chat/completions';
    const text = `no call came through the model of its run: the agent called "gpt-4o-mini" at ${address}. Give`;

    it.each([
      ['returns', () => ({ reward: 1 })],
      [
        'throws',
        () => {
          throw new Error('401');
        },
      ],
    ])('is told when it %s, and not tried again', async (_, end) => {
      const before = globalThis.fetch;
      const { outcome, keys } = start(
        defineWorkflow({
          name: 'w',
          run: async () => {
            await fetch(address, call).catch(() => undefined);
            await fetch('http://127.0.0.1:1/weather').catch(() => undefined);
            return end();
          },
        }),
        { metrics: { 'model/calls': 0 } },
      );
      const { runs } = await outcome;
      expect(runs[0]).toMatchObject({
        error: { code: 'MODEL_BYPASSED', message: expect.stringContaining(text) as string },
      });
      expect([keys.length, globalThis.fetch]).toEqual([3, before]);
    });

    it('is told of the address when its client has kept the fetch of before', async () => {
      const kept = globalThis.fetch;
      const other = 'http://127.0.0.1:2/v1/chat/completions';
      const { outcome } = start(
        defineWorkflow({
          name: 'w',
          run: async () => {
            await kept(other, call).catch(() => undefined);
            return 1;
          },
        }),
        { metrics: { 'model/calls': 0 } },
      );
      expect((await outcome).runs[0]).toMatchObject({
        error: { message: expect.stringContaining(`the agent called ${other}. Give`) as string },
      });
    });

    it.each([
      [new Error('OpenAI API key is missing.'), { code: 'MODEL_BYPASSED' }],
      [
        Object.assign(new Error('401 The external model "m" at host answered 401 Bad API key'), {
          status: 401,
        }),
        { name: 'ModelError', status: 401 },
      ],
      [
        new Error('API Error: 401 {"message":"The external model \\"m\\" at host: Bad API key"}'),
        { code: 'WORKFLOW_THREW' },
      ],
    ])(
      'learns which model to call when its key is missing, not when an external model refuses it: %o',
      async (thrown, error) => {
        const { outcome } = start(
          defineWorkflow({ name: 'w', run: () => Promise.reject(thrown) }),
          { metrics: { 'model/calls': 0 }, external: fakeModel() },
        );
        expect((await outcome).runs[0]).toMatchObject({ error });
      },
    );
  });

  it('gives a score and its metrics to every recorded call', async () => {
    const records = [experience({ reward: 0 }), experience({ eid: { step: 1 } })];
    const { outcome } = start(
      defineWorkflow({ name: 'w', run: () => ({ reward: 0.25, metrics: { tool_calls: 2 } }) }),
      { records },
    );
    const { runs } = await outcome;
    expect(runs[2]).toMatchObject({
      reward: 0.25,
      metrics: { tool_calls: 2, reward: 0.25 },
      experiences: [
        { reward: 0.25, metrics: { tool_calls: 2 } },
        { reward: 0.25, metrics: { tool_calls: 2 } },
      ],
    });
  });

  it('takes policy version and temperature of a hand-made experience from the recorded call', async () => {
    const records = [experience({ policyVersion: 3, temperature: 0.7 })];
    const { outcome } = start(
      defineWorkflow({
        name: 'w',
        run: () => [createExperience({ tokens: [1, 2, 3], promptLength: 1, reward: 1 })],
      }),
      { records },
    );
    const { runs } = await outcome;
    expect(runs[0]).toMatchObject({
      experiences: [{ policyVersion: 3, temperature: expect.closeTo(0.7) as number }],
    });
  });

  it('lets a repeating workflow make all runs at once and uses its instance again', async () => {
    let made = 0;
    class Repeating extends Workflow {
      static override readonly canReset = true;
      static override readonly canRepeat = true;
      constructor(context: WorkflowContext) {
        super(context);
        made++;
      }
      run(): readonly Experience[] {
        return Array.from({ length: this.repeatTimes }, (_, i) =>
          experience({ eid: { run: this.runIdBase + i }, reward: i }),
        );
      }
    }
    const definition = defineWorkflow({ name: 'w', workflow: Repeating });
    const pool = createInstancePool();
    for (let i = 0; i < 2; i++) {
      const { runs } = await start(definition, { pool }).outcome;
      expect(runs.map((run) => run.status === 'ok' && [run.run, run.reward])).toEqual([
        [0, 0],
        [1, 1],
        [2, 2],
      ]);
    }
    expect(made).toBe(1);
  });

  it('refuses a run that is none of the group', async () => {
    class Surplus extends Workflow {
      static override readonly canRepeat = true;
      run(): readonly Experience[] {
        return [0, 1, 2, 7].map((run) => experience({ eid: { run }, reward: 1 }));
      }
    }
    const { runs } = await start(defineWorkflow({ name: 'w', workflow: Surplus })).outcome;
    expect(runs).toHaveLength(3);
    for (const run of runs)
      expect(run).toMatchObject({
        status: 'failed',
        error: { message: expect.stringContaining('run 7, which is not one of its 3 runs') },
      });
  });

  describe('a group of which some rollouts fail', () => {
    const asked: (readonly [first: number, count: number])[] = [];
    class Partly extends Workflow {
      static override readonly canRepeat = true;
      run(): readonly Experience[] {
        asked.push([this.runIdBase, this.repeatTimes]);
        const runs = Array.from({ length: this.repeatTimes }, (_, i) => this.runIdBase + i);
        const busy = new RewardError('The judge is busy.');
        const failed = runs.filter((run) => run === 1 || (run === 2 && runs.length > 1));
        if (failed.length === runs.length) throw busy;
        throw new PartialGroupError(
          runs
            .filter((run) => !failed.includes(run))
            .map((run) => experience({ eid: { run }, reward: run })),
          new Map(failed.map((run) => [run, busy])),
        );
      }
    }
    class Whole extends Partly {
      override run(): readonly Experience[] {
        if (this.repeatTimes > 1) return super.run();
        asked.push([this.runIdBase, 1]);
        return this.runIdBase === 1 ? super.run() : [experience({ reward: 7 })];
      }
    }
    const definition = defineWorkflow({ name: 'w', workflow: Whole });

    it('keeps the others, and repeats each failed one alone', async () => {
      asked.length = 0;
      const noted: (string | undefined)[] = [];
      const span = {
        isRecording: () => true,
        setAttribute: () => undefined,
        setStatus: ({ message }: SpanStatus) => noted.push(message),
      };
      const active = vi.spyOn(trace, 'getActiveSpan').mockReturnValue(span as unknown as Span);
      const { outcome, keys, runtime } = start(definition);
      const { runs, retries } = await outcome;
      active.mockRestore();
      expect(runs.map((run) => (run.status === 'ok' ? run.reward : run.error.message))).toEqual([
        0,
        'The judge is busy.',
        7,
      ]);
      expect(asked[0]).toEqual([0, 3]);
      expect(keys.map(({ run, count, attempt }) => [run, count, attempt])).toEqual([
        [0, 3, 0],
        [1, 1, 1],
        [2, 1, 1],
        [1, 1, 2],
      ]);
      expect(retries).toBe(3);
      expect(noted).toEqual(Array.from({ length: 4 }, () => 'The judge is busy.'));
      expect(runtime.logger.lines.map(({ message }) => message)).toEqual([
        'Run 9/4/1 of workflow "w" failed and will be retried: The judge is busy.',
        'Run 9/4/2 of workflow "w" failed and will be retried: The judge is busy.',
        'Run 9/4/1 of workflow "w" failed and will be retried: The judge is busy.',
        'Run 9/4/1 of workflow "w" failed: The judge is busy.',
      ]);
      expect(runtime.logger.lines.map(({ level, fields }) => [level, fields?.times])).toEqual([
        ['warn', undefined],
        ['warn', 2],
        ['info', 3],
        ['warn', undefined],
      ]);
    });

    /** A workflow whose run 1 fails within its group, and `times` times alone. */
    const losing = (error: Error, times: number): WorkflowDefinition => {
      let left = times;
      class Losing extends Workflow {
        static override readonly canRepeat = true;
        run(): readonly Experience[] {
          const runs = Array.from({ length: this.repeatTimes }, (_, i) => this.runIdBase + i);
          if (runs.length === 1 && left-- > 0) throw error;
          const kept = runs
            .filter((run) => runs.length === 1 || run !== 1)
            .map((run) => experience({ eid: { run } }));
          if (runs.length === 1) return kept;
          throw new PartialGroupError(kept, new Map([[1, error]]));
        }
      }
      return defineWorkflow({ name: 'w', workflow: Losing });
    };

    it('gives a single repeat no failure reward, like the group', async () => {
      const { outcome } = start(losing(new TypeError('unknown tool'), 9), {
        records: [unscored({ eid: { step: 0 } })],
        settings: { failureReward: -1 },
      });
      expect(failures(await outcome)).toEqual(['ok', 'failed', 'ok']);
    });

    it('counts a failure of the environment apart from those of the agent', async () => {
      const { outcome, keys } = start(losing(new EnvironmentError('It is down.'), 1), {
        settings: {
          maxRetryTimes: 0,
          environmentFailures: { maxRetryTimes: 2, maxInRow: 8, maxWaitMs: 0 },
        },
      });
      const { runs, environmentFailures, retries } = await outcome;
      expect(runs.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
      expect([environmentFailures, retries]).toEqual([2, 2]);
      expect(keys.map(({ run, attempt }) => [run, attempt])).toEqual([
        [0, 0],
        [1, 0],
        [1, 0],
      ]);
    });

    it('keeps what a workflow returned for a rollout that failed', async () => {
      class Filling extends Workflow {
        static override readonly canRepeat = true;
        run(): readonly Experience[] {
          const all = Array.from({ length: 3 }, (_, run) => experience({ eid: { run } }));
          throw new PartialGroupError(all, new Map([[1, new RewardError('busy')]]));
        }
      }
      const definition = defineWorkflow({ name: 'w', workflow: Filling });
      expect(failures(await start(definition).outcome)).toEqual(['ok', 'ok', 'ok']);
    });

    it('leaves the failed ones where nothing is retried', async () => {
      const { outcome, keys } = start(definition, { settings: { maxRetryTimes: 0 } });
      expect(failures(await outcome)).toEqual(['ok', 'failed', 'failed']);
      expect(keys).toHaveLength(1);
    });
  });

  describe('with a failure reward', () => {
    const records = [unscored({ eid: { step: 0 } }), unscored({ eid: { step: 1 } })];
    const failing = (error: Error): WorkflowDefinition =>
      defineWorkflow({
        name: 'w',
        run: () => {
          throw error;
        },
      });
    const one: Task = { ...baseTask, repeatTimes: 1 };

    it.each([
      ['an agent that throws', new TypeError('unknown tool')],
      [
        'a prompt that grew too long',
        new ModelError('too long', { status: 400, code: 'context_length_exceeded' }),
      ],
    ])('gives it to the recorded calls of %s, at once', async (_what, error) => {
      const { outcome, runtime } = start(failing(error), {
        task: one,
        records,
        settings: { failureReward: -1 },
      });
      const result = await outcome;
      expect(result.runs).toMatchObject([
        { status: 'ok', reward: -1, failure: {}, metrics: { reward: -1, steps: 2 } },
      ]);
      expect(
        result.runs[0]!.status === 'ok' && result.runs[0]!.experiences.map(({ reward }) => reward),
      ).toEqual([-1, -1]);
      expect(result.retries).toBe(0);
      expect(runtime.logger.lines.map(({ message }) => message)).toEqual([
        expect.stringContaining('gets the failure reward -1'),
      ]);
      expect(rolloutMetrics([result], 0)).toMatchObject({
        'rollout/runs/ok': 1,
        'rollout/runs/failure_rewarded': 1,
      });
    });

    it('gives it to the calls that a workflow has extracted from the history', async () => {
      const [recorded, extracted] = [[...records], [] as Experience[]];
      const model = {
        ...fakeModel(),
        extractExperiencesFromHistory: () => {
          const taken = recorded.splice(0, 1);
          extracted.push(...taken);
          return taken;
        },
      };
      class Failing extends StepWiseRewardWorkflow {
        step(stepNum: number): boolean {
          if (stepNum === 1) throw new TypeError('unknown tool');
          return true;
        }
        reward(): number {
          return 0.5;
        }
      }
      const { outcome } = start(defineWorkflow({ name: 'w', workflow: Failing }), {
        task: one,
        settings: { failureReward: -1 },
        createModel: () => ({
          model,
          extracted: () => [...extracted],
          auxiliaryModels: new Map(),
          metrics: () => ({}),
          longestPauseMs: () => 0,
        }),
      });
      const { runs, retries } = await outcome;
      expect(retries).toBe(0);
      expect(
        runs.map((run) => run.status === 'ok' && run.experiences.map(({ reward }) => reward)),
      ).toEqual([[-1, -1]]);
    });

    it.each([
      ['trains a run that ran out of time by its own calls', 499, 'ok'],
      ['drops and counts one that a tool kept', 500, 'service_failed'],
    ] as const)('%s', async (_what, longestPauseMs, kind) => {
      const { outcome, runtime } = start(
        defineWorkflow({ name: 'w', run: () => new Promise<never>(() => undefined) }),
        {
          task: one,
          records,
          longestPauseMs,
          settings: { failureReward: -1, maxRetryTimes: 0 },
        },
      );
      await runtime.clock.advance(1000);
      const result = await outcome;
      expect([failures(result), result.timeouts]).toEqual([[kind], 1]);
      const trained = result.runs.flatMap((run) => (run.status === 'ok' ? run.experiences : []));
      expect(trained.map(({ reward }) => reward)).toEqual(kind === 'ok' ? [-1, -1] : []);
    });

    it.each([
      [3, /It waited for a tool or service for 0\.9 s/],
      [0, /The model answered no call of it, and it waited for something else for 0\.9 s/],
    ])('says what a run with %s calls waited for', async (calls, says) => {
      const { outcome, runtime } = start(
        defineWorkflow({ name: 'w', run: () => new Promise<never>(() => undefined) }),
        {
          task: one,
          metrics: { 'model/calls': calls },
          longestPauseMs: 900,
          settings: { maxRetryTimes: 0 },
        },
      );
      await runtime.clock.advance(1000);
      const [run] = (await outcome).runs;
      expect(run?.status === 'failed' && run.error.message).toMatch(says);
    });

    it.each<[string, Error, Partial<Parameters<typeof start>[1]>]>([
      ['an engine fault', new EngineError('gone', { code: 'ENGINE_CLOSED' }), {}],
      ['a reward function that cannot score', new RewardError('no gold', { code: 'REWARD' }), {}],
      ['an agent that never called the model', new TypeError('x'), { records: [] }],
      ['an evaluation', new TypeError('x'), { task: { ...one, isEval: true } }],
    ])('leaves %s a failure', async (_what, error, over) => {
      const { outcome } = start(failing(error), {
        task: one,
        records,
        settings: { failureReward: -1, maxRetryTimes: 0 },
        ...over,
      });
      expect(failures(await outcome)).toEqual(['failed']);
    });
  });

  it('rejects when the explorer is stopped', async () => {
    const abort = new AbortController();
    const { outcome } = start(
      defineWorkflow({ name: 'w', run: () => new Promise<never>(() => undefined) }),
      { signal: abort.signal },
    );
    abort.abort(new Error('stop'));
    await expect(outcome).rejects.toMatchObject({ reason: 'shutdown' });
  });

  it('leaves failed runs out of means and counts them', async () => {
    let calls = 0;
    const { outcome } = start(
      defineWorkflow({
        name: 'w',
        run: () => {
          if (calls++ === 0) throw new Error('x');
          return [experience({ reward: 0.5 })];
        },
      }),
      { settings: { maxRetryTimes: 0 } },
    );
    expect(rolloutMetrics([await outcome], 7)).toMatchObject({
      'rollout/model_version': 7,
      'rollout/runs/ok': 2,
      'rollout/runs/failed': 1,
      'rollout/runs/timed_out': 0,
      'rollout/finished_task_count': 1,
      'rollout/reward/mean': 0.5,
    });
  });
});

describe('experiences', () => {
  it('record the row of their task, and the answer that it expects, cut off where it is long', async () => {
    const definition = defineWorkflow({ name: 'one', run: async () => [experience({})] });
    const infoOf = async (answer?: string) => {
      const rawTask = { ...baseTask.rawTask, [baseTask.formatArgs.responseKey]: answer };
      const task = { ...baseTask, rawTask, repeatTimes: 1 };
      const { runs } = await start(definition, { task }).outcome;
      return runs.flatMap((one) => (one.status === 'ok' ? one.experiences : []))[0]?.info;
    };
    const { taskset, row } = baseTask.index;
    expect(await infoOf('42')).toMatchObject({ taskset, row, truth: '42' });
    expect((await infoOf('4'.repeat(9999)))?.['truth']).toHaveLength(500);
    expect(await infoOf()).not.toHaveProperty('truth');
  });
});

describe('reasons of rewards', () => {
  const wrong = (reason: string) => ({ parts: { right: 0 }, reasons: { right: reason } });
  const infoOf = async (run: Run) =>
    (await run.outcome).runs.map(
      (one) => one.status === 'ok' && one.experiences.map(({ info }) => info['reasons']),
    );

  it('stay with the answer that they are about, in a workflow that repeats by itself', async () => {
    class Group extends Workflow {
      static override readonly canRepeat = true;
      run(): Promise<readonly Experience[]> {
        const scored = ['a', 'b', 'a'].map(async (responseText, run) => {
          await this.rewardFn!({ response: responseText } as RewardInput);
          return experience({ responseText, eid: { run } });
        });
        return Promise.all(scored);
      }
    }
    const definition = defineWorkflow({ name: 'group', workflow: Group });
    const rewardFn: RewardFn = ({ response }) => (response === 'a' ? wrong('no') : 1);
    expect(await infoOf(start(definition, { rewardFn }))).toEqual([
      [{ right: 'no' }],
      [undefined],
      [{ right: 'no' }],
    ]);
  });

  it('about the end of an agent stand with its last step', async () => {
    const definition = defineWorkflow({
      name: 'agent',
      run: async ({ rewardFn }: WorkflowContext) => {
        await rewardFn!({ response: 'said in the end' } as RewardInput);
        return [0, 1].map((step) => experience({ responseText: `${step}`, eid: { step } }));
      },
    });
    const task = { ...baseTask, repeatTimes: 1 };
    expect(await infoOf(start(definition, { rewardFn: () => wrong('late'), task }))).toEqual([
      [undefined, { right: 'late' }],
    ]);
  });
});
