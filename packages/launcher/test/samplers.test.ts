/** A configuration that trains on one engine and samples on vLLM servers. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Engine, EngineFactory } from '@trinity-rft/core/engine';
import { onnxEngine } from '@trinity-rft/engine-onnx';
import { openTinkerServer, type TinkerModel } from '@trinity-rft/tinker/server';
import { fakeEngine, openFakeEngine, testRuntime } from '@trinity-rft/testing';
import { vllmStandIn, type VllmStandIn } from '@trinity-rft/test-support';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { bigramRuns, type BigramRuns } from './support/bigram-runs.js';

const servers: VllmStandIn[] = [];
const apiKey = 'secret';
let runs: BigramRuns;
let bigrams: EngineFactory;

beforeAll(async () => {
  runs = await bigramRuns(8);
  const { tokenizer, vocabSize } = runs;
  const open = (folder?: string, maxModelLen = 64): Promise<Engine> =>
    openFakeEngine(folder, { vocabSize, maxModelLen });
  bigrams = {
    name: 'bigrams',
    capabilities: fakeEngine().capabilities,
    open: ({ maxModelLen }) => open(undefined, maxModelLen),
  };
  for (const _ of [1, 2]) servers.push(await vllmStandIn({ open, vocabSize, apiKey, tokenizer }));
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close().catch(() => undefined)));
  runs.remove();
});

const runWith = (
  name: string,
  changes: Readonly<Record<string, unknown>> = {},
  overrides: Readonly<Record<string, unknown>> = {},
) => {
  const baseUrl = servers.map(({ url }) => url);
  const model = { engine_type: 'vllm', base_url: baseUrl, api_key: apiKey, dtype: 'float32' };
  const all = { explorer: { rollout_model: model }, ...changes };
  return runs.runWith(name, all, { engines: [bigrams], overrides });
};

/** Path of the model, and its limits on tokens. */
const sizes = { model_path: 'model', max_prompt_tokens: 16, max_response_tokens: 4 };

type Line = Readonly<Record<string, number>>;

const metricsOf = (checkpoint: string): readonly Line[] =>
  readFileSync(path.join(checkpoint, '..', 'monitor', 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

function differencesOf(checkpoint: string): readonly number[] {
  const text = JSON.stringify(metricsOf(checkpoint));
  const found = text.matchAll(/"training\/rollout_logprobs_diff_max":([^,}]+)/g);
  return [...found].map(([, value]) => Number(value));
}

it('trains on what the servers sample, with the weights of every step', async () => {
  const { trainStep, checkpoint = '' } = await runWith('both');
  expect(trainStep).toBe(4);
  const loads = servers.map(
    ({ requests }) => requests.filter((request) => request === '/collective_rpc').length,
  );
  expect(loads).toEqual([5, 5]);
  const differences = differencesOf(checkpoint);
  expect(differences).toHaveLength(4);
  expect(Math.max(...differences)).toBeLessThan(1e-5);
  expect(JSON.stringify(metricsOf(checkpoint))).not.toContain('secret');
});

it('samples on SGLang in the same way, and says that nobody has tried', async () => {
  const url = servers[0]?.url;
  const model = { engine_type: 'sglang', base_url: url, api_key: apiKey, dtype: 'float32' };
  const { checkpoint = '' } = await runWith('sglang', { explorer: { rollout_model: model } });
  const text = JSON.stringify(metricsOf(checkpoint));
  const differences = [...text.matchAll(/"training\/rollout_logprobs_diff_max":([^,}]+)/g)];
  expect(differences).toHaveLength(4);
  expect(Math.max(...differences.map(([, value]) => Number(value)))).toBeLessThan(1e-5);
  const log = readFileSync(path.join(checkpoint, '..', 'log', 'trinity.log'), 'utf8');
  expect(log.match(/never run against a real server/g)).toHaveLength(1);
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

it('trains on a Tinker server, whose adapters the servers load, and leaves none behind', async () => {
  const modelPath = path.join(runs.root, 'model');
  const open: TinkerModel['open'] = (chosen) =>
    onnxEngine.open({ ...chosen, modelPath, threads: 1 });
  const tinker = await openTinkerServer({
    model: { name: 'tiny', maxModelLen: 64, open },
    directory: path.join(runs.root, 'tinker'),
    runtime: testRuntime(),
    apiKey: 'tml-test',
  });
  const { vocabSize, tokenizer } = runs;
  const opened: Engine[] = [];
  const openAdapter = async (folder?: string): Promise<Engine> => {
    const lora = folder === undefined ? undefined : { path: path.join(folder, 'lora_adapter') };
    const engine = await onnxEngine.open({ modelPath, lora, threads: 1 });
    opened.push(engine);
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    return engine;
  };
  const vllm = await vllmStandIn({ open: openAdapter, vocabSize, tokenizer });
  vi.stubEnv('TINKER_API_KEY', 'tml-test');
  try {
    const rollout_model = { engine_type: 'vllm', base_url: vllm.url, dtype: 'float32' };
    const sections = {
      model: { ...sizes, tinker: { base_url: tinker.url, rank: 2 } },
      explorer: { rollout_model },
      trainer: { trainer_type: 'tinker' },
    };
    const overrides = { buffer: { total_steps: 2 } };
    const { trainStep, checkpoint = '' } = await runWith('tinker', sections, overrides);
    expect(trainStep).toBe(2);
    const loads = vllm.requests.filter((request) => request === '/v1/load_lora_adapter');
    expect(loads).toHaveLength(3);
    const differences = differencesOf(checkpoint);
    expect(differences).toHaveLength(2);
    expect(Math.max(...differences)).toBeLessThan(1e-4);
    // That of the last checkpoint.
    expect(globSync('tinker/*/sampler_weights/step-*', { cwd: runs.root })).toHaveLength(1);
  } finally {
    vi.unstubAllEnvs();
    await Promise.all([vllm.close(), tinker.close(), ...opened.map((engine) => engine.close())]);
  }
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

it('refuses a trainer that takes shorter texts than are sampled', async () => {
  const { vocabSize } = runs;
  const short = fakeEngine({ vocabSize, maxModelLen: 12 });
  const close = () => Promise.reject(new Error('It does not close.'));
  const engines = [{ ...bigrams, open: () => Promise.resolve({ ...short, close }) }];
  const model = { engine_type: 'vllm', base_url: servers[1]?.url, api_key: apiKey };
  await expect(
    runs.runWith('short', { explorer: { rollout_model: model } }, { engines }),
  ).rejects.toMatchObject({
    code: 'TRAINER_TOO_SHORT',
    message: expect.stringMatching(
      /at most 12 tokens.*max_model_len, 20.*Set .*max_model_len: 12, and max_prompt_tokens and max_response_tokens to at most 12 together/,
    ),
  });
});

it('takes a trainer that samples no texts and so has no limit on them', async () => {
  const open: EngineFactory['open'] = async (options) => {
    const engine = await bigrams.open(options);
    return { ...engine, sampler: { ...engine.sampler, maxModelLen: 0 } };
  };
  const model = { engine_type: 'vllm', base_url: servers[1]?.url, api_key: apiKey };
  const changes = { explorer: { rollout_model: model } };
  const { trainStep } = await runs.runWith('limitless', changes, {
    engines: [{ ...bigrams, open }],
  });
  expect(trainStep).toBeGreaterThan(0);
});

it('refuses a server that has another tokenizer, and says which text differs', async () => {
  const { vocabSize, tokenizer } = runs;
  const swapped = {
    encode: (text: string) => tokenizer.encode(text.replaceAll('1', '2')),
    decode: (ids: ArrayLike<number>) => tokenizer.decode(ids),
  };
  const open = (folder?: string): Promise<Engine> => openFakeEngine(folder, { vocabSize });
  const other = await vllmStandIn({ open, vocabSize, tokenizer: swapped });
  const model = { engine_type: 'vllm', base_url: other.url };
  await expect(runWith('swapped', { explorer: { rollout_model: model } })).rejects.toMatchObject({
    code: 'SAMPLER_VOCABULARY',
    message: expect.stringMatching(/the text "0 1 12 123.+ is \[.+\] here and \[.+\] there/),
  });
  await other.close();
});
