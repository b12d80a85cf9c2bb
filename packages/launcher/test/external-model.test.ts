/** A model behind an API answers: that of another run, which serves it over HTTP. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { EngineFactory } from '@trinity-rft/core/engine';
import { fakeEngine, openFakeEngine } from '@trinity-rft/testing';
import { defineWorkflow } from '@trinity-rft/workflow';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ServeAddress } from '../src/context/stage-context.js';
import { bigramRuns, type BigramRuns } from './support/bigram-runs.js';

const apiKey = 'key-of-the-served-model';
const stop = new AbortController();
let runs: BigramRuns;
let url = '';
let serving: Promise<unknown> = Promise.resolve();
/** Number of models that were opened to train or sample here. */
let opened = 0;

/** An engine whose models all differ in their weights, so that student and teacher differ. */
const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: ({ maxModelLen, tokenBytes = [] }) =>
    openFakeEngine(undefined, { vocabSize: tokenBytes.length, maxModelLen, seed: ++opened }),
};

beforeAll(async () => {
  runs = await bigramRuns(8);
  ({ url } = await new Promise<ServeAddress>((onOpen, reject) => {
    const options = { engines: [bigrams], signal: stop.signal, serve: { port: 0, apiKey, onOpen } };
    serving = runs.runWith('teacher', { mode: 'serve' }, options).catch(reject);
  }));
});
afterAll(async () => {
  stop.abort();
  await serving;
  runs.remove();
});

const external = {
  enable: true,
  base_url_env: 'TEACHER_URL',
  api_key_env: 'TEACHER_KEY',
  model_name: 'teacher',
};
/** The environment of a run, which that of this process does not hold. */
const beside = () => ({
  engines: [bigrams],
  env: { TEACHER_URL: `${url}/v1/`, TEACHER_KEY: apiKey },
});
const model = { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 };

const taskset = {
  name: 'sums',
  path: 'tasks.jsonl',
  format: { prompt_key: 'question', response_key: 'answer' },
  default_workflow_type: 'simple_workflow',
  default_reward_fn_type: 'any_digit',
};
const bench = {
  mode: 'bench',
  model: { ...model, external_model: external },
  buffer: { explorer_input: { eval_tasksets: [taskset] } },
};

const textOf = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');

it('is benchmarked, with no model opened here and its key nowhere', async () => {
  const before = opened;
  await runs.runWith('bench', bench, beside());
  expect(opened).toBe(before);
  const folder = path.join(runs.root, 'runs', 'Trinity-RFT', 'bench');
  const files = textOf(folder);
  expect(files).toContain('"bench/sums/finished_task_count":8');
  expect(files.includes(apiKey)).toBe(false);
});

const benchOf = (workflow: string) => ({
  ...bench,
  buffer: { explorer_input: { eval_tasksets: [{ ...taskset, default_workflow_type: workflow }] } },
});
const byClient = defineWorkflow({
  name: 'by_client',
  run: async ({ model: { openaiClient, modelPath } }) => {
    const messages = [{ role: 'user', content: '1+2=' }] as const;
    await openaiClient().chat.completions.create({ model: modelPath, messages: [...messages] });
    return { reward: 1 };
  },
});

it.each(['simple_workflow', 'by_client'])(
  'ends a benchmark of %s with what it said where it answers nothing',
  async (workflow) => {
    const { engines, env } = beside();
    const wrong = { engines, env: { ...env, TEACHER_KEY: 'another-key' }, workflows: [byClient] };
    const refused = runs.runWith(`refused_${workflow}`, benchOf(workflow), wrong);
    const error = await refused.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'ALL_RUNS_FAILED',
      message: expect.stringMatching(/^All runs of the benchmark failed/) as string,
      cause: {
        message: expect.stringMatching(
          /The external model "teacher" at \S+ answered 401/,
        ) as string,
      },
    });
  },
);

it('ends a benchmark as usual in which the agent itself fails every time', async () => {
  const run = (): Promise<never> => Promise.reject(new Error('The answer is malformed.'));
  const workflows = [defineWorkflow({ name: 'malformed', run })];
  await runs.runWith('malformed', benchOf('malformed'), { ...beside(), workflows });
  const folder = path.join(runs.root, 'runs', 'Trinity-RFT', 'malformed');
  expect(textOf(folder)).toContain('"bench/sums/failed_run_count":8');
});

it('refuses a baseline that cannot be evaluated beside it, before it is asked', async () => {
  const evaluation = {
    ...{ checkpoints: ['base'], baseline: 'model' },
    onCheckpoint: () => expect.unreachable('the external model was evaluated'),
  };
  await expect(runs.runWith('baseline', bench, { ...beside(), evaluation })).rejects.toMatchObject({
    code: 'MODEL_ELSEWHERE',
  });
});

it('teaches an algorithm that imitates', async () => {
  const { checkpoint = '', trainStep } = await runs.runWith(
    'student',
    {
      model: { ...model, temperature: 0 },
      explorer: {
        rollout_model: { engine_type: 'external', external_model_config: external },
      },
      algorithm: { algorithm_type: 'raft', repeat_times: 4, optimizer: { lr: 0.5 } },
    },
    beside(),
  );
  expect(trainStep).toBe(4);
  const metrics = readFileSync(path.join(checkpoint, '..', 'monitor', 'metrics.jsonl'), 'utf8');
  const losses = [...metrics.matchAll(/"actor\/sft_loss":([^,}]+)/g)].map(([, value]) =>
    Number(value),
  );
  expect(losses).toHaveLength(4);
  expect(losses.at(-1)).toBeLessThan(losses[0]! / 4);
  expect(metrics).toMatch(/"sample\/expert_count":[1-9]/);
  expect(metrics).not.toContain('rollout_logprobs_diff');
});

it('is refused where training needs log-probabilities, and without an address', async () => {
  const grpo = { model: { ...model, external_model: external } };
  await expect(runs.runWith('grpo', grpo, beside())).rejects.toThrow(
    /the policy loss "ppo" of grpo learns from those of the sampler. Use algorithm_type: raft/,
  );
  const nowhere = {
    model: { ...model, external_model: { ...external, base_url_env: 'NO_SUCH_VARIABLE' } },
    algorithm: { algorithm_type: 'raft', repeat_times: 4 },
  };
  await expect(runs.runWith('nowhere', nowhere, beside())).rejects.toThrow(
    'needs the environment variable NO_SUCH_VARIABLE, which is not set',
  );
});
