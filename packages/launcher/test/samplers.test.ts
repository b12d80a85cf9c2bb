/** A configuration that trains on one engine and samples on vLLM servers. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Engine, EngineFactory } from '@trinity-rft/core';
import { fakeEngine, vllmStandIn, type VllmStandIn } from '@trinity-rft/testing';
import { defineReward } from '@trinity-rft/workflow';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run } from '../src/run/run.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-samplers-'));
const servers: VllmStandIn[] = [];
let vocabSize = 0;

/** The model folder only has to have a tokenizer, and a size. */
const openModel = async (folder?: string, maxModelLen = 64): Promise<Engine> => {
  const model = fakeEngine({ vocabSize, maxModelLen });
  if (folder !== undefined) await model.sampler.adopt({ kind: 'checkpoint', directory: folder }, 0);
  return model;
};

beforeAll(async () => {
  const tokenizer = { characters: '0123456789+=\n' };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1 });
  const config = JSON.parse(readFileSync(path.join(root, 'model', 'config.json'), 'utf8')) as {
    readonly vocab_size: number;
  };
  vocabSize = config.vocab_size;
  const row = JSON.stringify({ question: '1+2=', answer: '3' });
  writeFileSync(path.join(root, 'tasks.jsonl'), `${row}\n`.repeat(8));
  for (const apiKey of ['secret', 'secret'])
    servers.push(await vllmStandIn({ open: (folder) => openModel(folder), vocabSize, apiKey }));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close().catch(() => undefined)));
  rmSync(root, { recursive: true, force: true });
});

const bigrams: EngineFactory = {
  name: 'bigrams',
  capabilities: fakeEngine().capabilities,
  open: ({ maxModelLen }) => openModel(undefined, maxModelLen),
};

const anyDigit = defineReward({
  name: 'any_digit',
  score: ({ response }) => (/\d/.test(response) ? 1 : 0),
});

const runWith = async (
  name: string,
  changes: Readonly<Record<string, unknown>> = {},
  overrides: Readonly<Record<string, unknown>> = {},
) => {
  const config = {
    name,
    checkpoint_root_dir: 'runs',
    model: { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 },
    algorithm: { algorithm_type: 'grpo', repeat_times: 4 },
    buffer: {
      batch_size: 2,
      explorer_input: {
        taskset: {
          path: 'tasks.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
        },
        default_workflow_type: 'simple_workflow',
        default_reward_fn_type: 'any_digit',
      },
    },
    explorer: {
      rollout_model: {
        engine_type: 'vllm',
        base_url: servers.map(({ url }) => url),
        api_key: 'secret',
        dtype: 'float32',
      },
    },
    trainer: { trainer_type: 'bigrams' },
    ...changes,
  };
  const configPath = path.join(root, `${name}.yaml`);
  writeFileSync(configPath, JSON.stringify(config));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  const engines = [bigrams];
  return run({ configPath, cwd: root, rewardFns: [anyDigit], engines, terminal, overrides });
};

type Line = Readonly<Record<string, number>>;

const metricsOf = (checkpoint: string): readonly Line[] =>
  readFileSync(path.join(checkpoint, '..', 'monitor', 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

it('trains on what the servers sample, with the weights of every step', async () => {
  const { trainStep, checkpoint = '' } = await runWith('both');
  expect(trainStep).toBe(4);
  const loads = servers.map(
    ({ requests }) => requests.filter((request) => request === '/collective_rpc').length,
  );
  expect(loads).toEqual([5, 5]);
  const text = JSON.stringify(metricsOf(checkpoint));
  const differences = [...text.matchAll(/"training\/rollout_logprobs_diff_max":([^,}]+)/g)];
  expect(differences).toHaveLength(4);
  expect(Math.max(...differences.map(([, value]) => Number(value)))).toBeLessThan(1e-5);
  expect(text).not.toContain('secret');
});

it('explores in a process of its own, which has no trainer', async () => {
  const sides = await Promise.all([
    runWith('apart', {}, { mode: 'train' }),
    runWith('apart', {}, { mode: 'explore', explorer: { name: 'one' } }),
  ]);
  expect(sides.map(({ trainStep }) => trainStep)).toEqual([4, 4]);
  const text = JSON.stringify(metricsOf(sides[0].checkpoint ?? ''));
  expect(text.match(/"rollout\/runs\/ok":8\b/g)).toHaveLength(4);
});

it('goes on with one server when the other is killed, and loses no run', async () => {
  const [first] = servers;
  const { requests } = servers[1]!;
  const before = requests.length;
  const killed = vi.waitUntil(
    () => requests.slice(before).filter((request) => request === '/collective_rpc').length > 2,
    { timeout: 60_000, interval: 2 },
  );
  const [{ trainStep, checkpoint = '' }] = await Promise.all([
    runWith('killed', {
      algorithm: {
        algorithm_type: 'grpo',
        repeat_times: 4,
        rollout_correction: { bypass_mode: false, rollout_is: 'token' },
      },
    }),
    killed.then(() => first!.kill()),
  ]);
  expect(trainStep).toBe(4);
  const text = JSON.stringify(metricsOf(checkpoint));
  expect(text.match(/"rollout\/runs\/ok":8\b/g)).toHaveLength(4);
  expect(text).not.toMatch(/"rollout\/runs\/retried":[1-9]/);
  const means = [...text.matchAll(/"rollout_corr\/rollout_is_mean":([^,}]+)/g)];
  expect(means).toHaveLength(4);
  for (const [, value] of means) expect(Number(value)).toBeCloseTo(1, 4);
});
