import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createExperience, describeError } from '@trinity-rft/core';
import { readEnd } from '@trinity-rft/launcher/files';
import {
  defineReward,
  defineWorkflow,
  type WorkflowContext,
  type WorkflowDefinition,
  type WorkflowResult,
} from '@trinity-rft/workflow';
import { beforeAll, describe, expect, it } from 'vitest';
import { runHere } from './support/run-here.js';
import { metricLines, usedRows, type MetricLine } from './support/run-record.js';
import { skippingClock, type SkippingClock } from './support/skipping-clock.js';
import { createWorkspace, evalTasksets, type Tree, type Workspace } from './support/workspace.js';

let workspace: Workspace;
beforeAll(async () => {
  workspace = await createWorkspace();
});
const job = (name: string): string => path.join(workspace.root, 'runs/tests', name);
const using = (workflow: string, rewardFn = 'digits'): Tree => ({
  buffer: { explorer_input: { default_workflow_type: workflow, default_reward_fn_type: rewardFn } },
});
const explorerLines = (name: string): readonly MetricLine[] =>
  metricLines(job(name)).filter(({ role }) => role === 'explorer');

async function answer({ model, task }: WorkflowContext): Promise<number> {
  const [reply] = await model.chat([{ role: 'user', content: String(task.rawTask['question']) }]);
  return reply!.responseText.length / 4;
}

const trap = (): never => {
  throw new TypeError('trap');
};
const unreadable: unknown = new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap });

/** Number of runs in an explore step. */
const stepRuns = 16;

/** Parameter of the functions that make an agent fail. */
interface Failing {
  readonly context: WorkflowContext;
  /** Advances the clock of the run, unless another run of the explore step is still working. */
  passTime(ms: number): void;
}

/** Workflow that calls `fail` in every fourth run. */
const failing = (
  fail: (failing: Failing) => unknown,
  clock?: SkippingClock,
): WorkflowDefinition => {
  let runs = 0;
  const passTime = (ms: number): void => {
    if (runs % stepRuns === 0) clock?.skip(ms);
  };
  return defineWorkflow({
    name: 'failing',
    run: async (context) => {
      const reward = await answer(context);
      return runs++ % 4 === 3 ? ((await fail({ context, passTime })) as WorkflowResult) : reward;
    },
  });
};

it('an error of an agent shows no secret of explorer.env_vars, in any file of the run', async () => {
  const secret = 'quokka-login-4711';
  const leak = defineWorkflow({
    name: 'leak',
    run: () => Promise.reject(new RangeError(`login with ${secret} failed`)),
  });
  const file = workspace.config('leak.yaml', using('leak'), {
    name: 'leak',
    explorer: { env_vars: { JIRA_PASSWORD: secret } },
  });
  const { output } = await runHere(workspace, file, { workflows: [leak] });
  const files = readdirSync(job('leak'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'));
  const texts = [output, ...files];
  expect(texts.some((text) => text.includes('login with [redacted] failed'))).toBe(true);
  expect(texts.filter((text) => text.includes(secret))).toEqual([]);
});

describe('an agent of which every fourth run', () => {
  const ways: readonly (readonly [
    what: string,
    fail: (failing: Failing) => unknown,
    kind: string,
    said: RegExp,
  ])[] = [
    [
      'throws',
      () => Promise.reject(new RangeError('no such tool')),
      'failed',
      /Workflow "failing" threw: no such tool/,
    ],
    [
      'throws a string',
      () => Promise.reject('nonsense' as never),
      'failed',
      /Workflow "failing" threw: nonsense/,
    ],
    [
      'hangs',
      ({ passTime }) => {
        passTime(120_000);
        return new Promise(() => undefined);
      },
      'service_failed',
      /took longer than 120 s \(explorer\.max_timeout\).* It waited for a tool or service for/,
    ],
    [
      'calls the model without end',
      async ({ context, passTime }) => {
        for (;;) {
          await answer(context);
          passTime(1000);
        }
      },
      'timed_out',
      /took longer than 120 s \(explorer\.max_timeout\)/,
    ],
    ['returns NaN', () => Number.NaN, 'failed', /returned NaN; expected a finite number/],
    ['returns 1e308', () => 1e308, 'failed', /returned 1e\+308; expected/],
    [
      'returns 1e200',
      () => 1e200,
      'failed',
      /returned 1e\+200; expected a finite number from -1e9 to 1e9/,
    ],
    [
      'throws a Proxy',
      () => Promise.reject(unreadable as Error),
      'failed',
      /Workflow "failing" threw: Something was thrown that cannot be read, such as a Proxy/,
    ],
    ['returns infinity', () => ({ reward: Infinity }), 'failed', /returned Infinity as reward/],
    [
      'returns undefined',
      () => undefined,
      'failed',
      /returned nothing; expected experiences, a number, or \{ reward, metrics, info \}/,
    ],
    [
      'returns an object without a reward',
      () => ({ metrics: {} }),
      'failed',
      /returned \{ metrics: \{\} \}; expected/,
    ],
    ['returns no experiences', () => [], 'failed', /returned no experiences/],
    [
      'returns experiences without a reward',
      ({ context: { model } }) => model.extractExperiencesFromHistory(),
      'failed',
      /returned an experience without a reward/,
    ],
    [
      'asks for too long a prompt',
      ({ context: { model } }) => model.chat([{ role: 'user', content: '1'.repeat(60) }]),
      'prompt_too_long',
      /The prompt has \d+ tokens/,
    ],
  ];
  it.each(ways)(
    '%s loses those runs, counted and named, and nothing else',
    { timeout: 240_000 },
    async (what, fail, kind, said) => {
      const config = workspace.config(`${what}.yaml`, using('failing'), {
        name: what,
        buffer: { total_steps: 2 },
        explorer: { max_timeout: 120 },
      });
      const clock = skippingClock();
      const { error, output } = await runHere(workspace, config, {
        workflows: [failing(fail, clock)],
        clock,
      });
      expect(error).toBeUndefined();
      expect(output).toMatch(said);
      const lines = explorerLines(what);
      expect(
        lines.map(({ metrics }) => [
          metrics[`rollout/runs/${kind}`],
          metrics['rollout/runs/ok'],
          metrics['experience_pipeline/experience_count'],
        ]),
      ).toEqual([
        [4, 12, 12],
        [4, 12, 12],
      ]);
      const rows = usedRows(path.join(job(what), 'buffer/experience_buffer.db'));
      expect([rows.length, rows.filter(({ trainStep }) => trainStep === undefined)]).toEqual([
        24,
        [],
      ]);
      expect(existsSync(path.join(job(what), 'failure.txt'))).toBe(false);
    },
  );

  it(
    'extracts its calls and then throws gets the failure reward for them',
    { timeout: 240_000 },
    async () => {
      const name = 'extracted';
      const extracting = failing(({ context }) => {
        context.model.extractExperiencesFromHistory();
        throw new RangeError('no such tool');
      });
      const config = workspace.config(`${name}.yaml`, using('failing'), {
        name,
        buffer: { total_steps: 2 },
        explorer: { failure_reward: -1 },
      });
      const { error } = await runHere(workspace, config, { workflows: [extracting] });
      expect(error).toBeUndefined();
      expect(
        explorerLines(name).map(({ metrics }) => [
          metrics['rollout/runs/ok'],
          metrics['rollout/runs/failure_rewarded'],
        ]),
      ).toEqual([
        [16, 4],
        [16, 4],
      ]);
    },
  );

  it(
    'leaves promises and timers that fail later behind is reported, and the run goes on',
    { timeout: 240_000 },
    async () => {
      const name = 'strays';
      const stray = failing(({ context }) => {
        void Promise.reject(new TypeError('nobody waits for me'));
        setTimeout(() => {
          throw new TypeError('thrown in a timer');
        }, 1);
        return answer(context);
      });
      // The listeners of the test runner would count these as errors of the test.
      const events = ['unhandledRejection', 'uncaughtException'] as const;
      const listeners = events.map((event) => process.listeners(event as 'uncaughtException'));
      for (const event of events) process.removeAllListeners(event);
      const { error, output } = await runHere(
        workspace,
        workspace.config(`${name}.yaml`, using('failing'), { name }),
        {
          workflows: [stray],
        },
      );
      events.forEach((event, i) =>
        listeners[i]!.forEach((listener) => process.on(event, listener as () => void)),
      );
      expect(error).toBeUndefined();
      expect(
        output.match(
          /A promise was rejected and no code awaits it \(in run 1\/\d\/\d of workflow "failing"\): nobody waits for me/g,
        ),
      ).toHaveLength(1);
      expect(
        output.match(
          /An error was thrown and no code catches it \(in run \d\/\d\/\d of workflow "failing"\): thrown in a timer/g,
        ),
      ).toHaveLength(1);
    },
  );
});

describe('failed runs', () => {
  it(
    'are tried again as often as the configuration says, and count as retried',
    { timeout: 240_000 },
    async () => {
      const attempts = new Map<string, number>();
      const flaky = defineWorkflow({
        name: 'flaky',
        run: async (context) => {
          const reward = await answer(context);
          const { batchId, taskId } = context.task;
          const key = `${batchId}/${taskId}`;
          const attempt = (attempts.get(key) ?? 0) + 1;
          attempts.set(key, attempt);
          // Each task fails in its first two attempts, whichever run makes them.
          if (attempt <= 2) throw new Error('try again');
          return reward;
        },
      });
      const config = workspace.config('flaky.yaml', using('flaky'), {
        name: 'flaky',
        buffer: { total_steps: 2 },
        explorer: { max_retry_times: 2 },
      });
      expect((await runHere(workspace, config, { workflows: [flaky] })).error).toBeUndefined();
      expect(
        explorerLines('flaky').map(({ metrics }) => [
          metrics['rollout/runs/ok'],
          metrics['rollout/runs/retried'],
          metrics['rollout/runs/failed'],
        ]),
      ).toEqual([
        [16, 8, 0],
        [16, 8, 0],
      ]);
    },
  );

  it.each([
    ['a whole group', (context: WorkflowContext) => context.task.taskId === 1],
    [
      'every second explore step',
      (context: WorkflowContext) => Number(context.task.batchId) % 2 === 0,
    ],
    [
      'the first two and the last two explore steps',
      (context: WorkflowContext) => [1, 2, 5, 6].includes(Number(context.task.batchId)),
    ],
  ])(
    'of %s do not stop the run, with fewer experiences than a train step wants',
    { timeout: 240_000 },
    async (what, fails) => {
      const partly = defineWorkflow({
        name: 'partly',
        run: (context) => (fails(context) ? Promise.reject(new Error('down')) : answer(context)),
      });
      const { error, summary } = await runHere(
        workspace,
        workspace.config(`${what}.yaml`, using('partly'), { name: what }),
        {
          workflows: [partly],
        },
      );
      expect([error, summary?.interrupted]).toEqual([undefined, false]);
      const rows = usedRows(path.join(job(what), 'buffer/experience_buffer.db'));
      expect(rows.length).toBeGreaterThan(0);
      expect(rows.filter(({ trainStep }) => trainStep === undefined)).toEqual([]);
      expect(explorerLines(what)).toHaveLength(6);
    },
  );

  it(
    'of three explore steps in a row end the run, which then goes on where it last worked',
    { timeout: 240_000 },
    async () => {
      let down = true;
      const broken = defineWorkflow({
        name: 'broken',
        run: (context) =>
          down && Number(context.task.batchId) > 2
            ? Promise.reject(new Error('the judge is down'))
            : answer(context),
      });
      const config = workspace.config('broken.yaml', using('broken'), {
        name: 'broken',
        buffer: { total_steps: 8 },
      });
      const { error } = await runHere(workspace, config, { workflows: [broken] });
      expect(error).toMatchObject({ name: 'WorkflowError', code: 'ALL_RUNS_FAILED' });
      expect(error?.message).toBe(
        'All 48 runs of the last 3 explore steps failed. Start the run again, which continues after explore step 2, when the cause of the first failure is fixed.',
      );
      expect(readFileSync(path.join(job('broken'), 'failure.txt'), 'utf8')).toMatch(
        /^WorkflowError: All 48 runs[^]*the judge is down/,
      );

      down = false;
      const resumed = await runHere(workspace, config, { workflows: [broken] });
      expect([resumed.error, resumed.summary?.trainStep]).toEqual([undefined, 8]);
      expect(existsSync(path.join(job('broken'), 'failure.txt'))).toBe(false);
      expect(
        (
          await runHere(
            workspace,
            workspace.config('healthy.yaml', using('broken'), {
              name: 'healthy',
              buffer: { total_steps: 8 },
            }),
            {
              workflows: [broken],
            },
          )
        ).error,
      ).toBeUndefined();
      expect(explorerLines('broken')).toEqual(explorerLines('healthy'));
    },
  );

  it(
    'without a single good one end even the shortest run as a failure',
    { timeout: 240_000 },
    async () => {
      const hopeless = defineWorkflow({
        name: 'hopeless',
        run: () => Promise.reject(new Error('no')),
      });
      const config = workspace.config('hopeless.yaml', using('hopeless'), {
        name: 'hopeless',
        buffer: { total_steps: 2 },
      });
      const { error, output } = await runHere(workspace, config, { workflows: [hopeless] });
      expect(error).toMatchObject({ code: 'ALL_RUNS_FAILED' });
      expect(error?.message).toMatch(/^All 32 runs of the last 2 explore steps failed\./);
      expect(await readEnd(job('hopeless'))).toMatchObject({
        how: 'failed',
        error: { code: 'ALL_RUNS_FAILED', cause: 'Workflow "hopeless" threw: no' },
      });
      expect(output).not.toContain('All 32 runs');
      expect(readFileSync(path.join(job('hopeless'), 'log/trinity.log'), 'utf8')).toMatch(
        /ERROR .* The run failed: All 32 runs .*: Workflow "hopeless" threw: no\n/,
      );
      expect((await runHere(workspace, config, { workflows: [hopeless] })).error).toMatchObject({
        code: 'ALL_RUNS_FAILED',
      });
    },
  );

  it('count as 0 in an evaluation, and are counted', { timeout: 240_000 }, async () => {
    const half = defineWorkflow({
      name: 'half',
      run: async (context) =>
        context.task.isEval && Number(context.task.taskId) % 2 === 0
          ? Promise.reject(new Error('no'))
          : (await answer(context), 1),
    });
    const config = workspace.config('half.yaml', evalTasksets, using('half'), {
      name: 'half',
      buffer: { total_steps: 1 },
    });
    expect((await runHere(workspace, config, { workflows: [half] })).error).toBeUndefined();
    expect(explorerLines('half').at(-1)?.metrics).toMatchObject({
      'eval/fresh/reward/mean@1': 0.5,
      'eval/fresh/failed_task_count': 10,
      'eval/fresh/failed_run_count': 10,
      'eval/fresh/finished_task_count': 10,
    });
  });
});

describe('a reward function', () => {
  it.each([
    [
      'throws',
      () => Promise.reject(new Error('no judge')),
      /Run 1\/\d\/\d .*: Reward function "bad" threw: no judge/,
    ],
    [
      'returns NaN',
      () => ({ accuracy: Number.NaN }),
      /Run 1\/\d\/\d .*: Reward function "bad" returned NaN for "accuracy"; expected a finite number/,
    ],
  ])(
    'that %s on some answers loses their runs alone, counted and named',
    { timeout: 240_000 },
    async (what, fail, said) => {
      let calls = 0;
      const bad = defineReward({
        name: 'bad',
        score: () => (calls++ % 16 === 0 ? (fail() as never) : calls % 3),
      });
      const config = workspace.config(`reward ${what}.yaml`, using('simple_workflow', 'bad'), {
        name: `reward ${what}`,
        buffer: { total_steps: 2 },
      });
      const { error, output } = await runHere(workspace, config, { rewardFns: [bad] });
      expect(error).toBeUndefined();
      expect(output).toMatch(said);
      expect(
        explorerLines(`reward ${what}`).map(({ metrics }) => [
          metrics['rollout/runs/failed'],
          metrics['rollout/runs/ok'],
        ]),
      ).toEqual([
        [1, 15],
        [1, 15],
      ]);
    },
  );
});

describe('the first cause', () => {
  it(
    'is what the run fails with when nothing that an agent makes can be used',
    { timeout: 240_000 },
    async () => {
      const forger = defineWorkflow({
        name: 'forger',
        run: async (context) => {
          await answer(context);
          return [
            createExperience({
              tokens: [1, 2, 999_999],
              promptLength: 1,
              logprobs: [-1, -1],
              reward: Math.random(),
              policyVersion: 0,
              temperature: 1,
            }),
          ];
        },
      });
      const { error, output } = await runHere(
        workspace,
        workspace.config('forger.yaml', using('forger'), { name: 'forger' }),
        {
          workflows: [forger],
        },
      );
      expect(describeError(error)).toMatch(/the token id 999999/);
      expect(output).not.toMatch(/was stopped|has ended/);
      expect(readFileSync(path.join(job('forger'), 'failure.txt'), 'utf8')).toMatch(
        /999999[^]*at /,
      );
    },
  );

  it.each([
    ['in training', [{ mode: 'both' }]],
    ['in an evaluation', [evalTasksets, { explorer: { eval_on_startup: true } }]],
    ['in a benchmark', [evalTasksets, { mode: 'bench' }]],
  ] as const)(
    'is the death of the engine, at once and not as runs that fail, %s',
    { timeout: 240_000 },
    async (what, over) => {
      const killer = defineWorkflow({
        name: 'killer',
        run: async (context) => {
          await new Promise((resolve) => setTimeout(resolve, 20));
          for (const worker of workers) void worker.terminate();
          workers.clear();
          return answer(context);
        },
      });
      const workers = new Set<{ terminate(): Promise<number> }>();
      const onWorker = (worker: { terminate(): Promise<number> }): void => void workers.add(worker);
      process.on('worker', onWorker);
      const { error } = await runHere(
        workspace,
        workspace.config(`${what}.yaml`, using('killer'), ...over, { name: what }),
        {
          workflows: [killer],
        },
      );
      process.off('worker', onWorker);
      expect(error).toMatchObject({ name: 'EngineError', code: 'ENGINE_WORKER_DIED' });
      expect(
        metricLines(job(what)).filter(({ metrics }) =>
          Object.keys(metrics).some((key) => /^(?:eval|bench)\//.test(key)),
        ),
      ).toEqual([]);
    },
  );
});
