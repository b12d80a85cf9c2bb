/** The client of the Tinker protocol against our server of it: the contract of every engine. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createTinkerEngine } from '@trinity-rft/tinker';
import { openTinkerServer, type TinkerServer } from '@trinity-rft/tinker/server';
import { describeEngine, fakeEngine, testRuntime } from '@trinity-rft/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';

const vocabSize = 16;
const apiKey = 'tml-contract';
const modelPath = mkdtempSync(path.join(tmpdir(), 'tinker-engine-'));
let server: TinkerServer;

beforeAll(async () => {
  const config = { vocab_size: vocabSize, max_position_embeddings: 65 };
  writeFileSync(path.join(modelPath, 'config.json'), JSON.stringify(config));
  server = await openTinkerServer({
    model: {
      name: 'bigrams',
      maxModelLen: 65,
      open: async () => fakeEngine({ vocabSize, maxModelLen: 65 }),
    },
    directory: path.join(modelPath, 'server'),
    runtime: testRuntime(),
    apiKey,
  });
});
afterAll(async () => {
  await server.close();
  rmSync(modelPath, { recursive: true, force: true });
});

const options = { modelPath, apiKey, rank: 4, reference: true };
describeEngine('tinker', {
  vocabSize,
  learningRate: 0.05,
  scoresAt: 'one',
  onePass: true,
  open: () => createTinkerEngine({ ...options, baseUrl: server.url }),
});

it('a loss that the server computes takes one pass less', async () => {
  const engine = await createTinkerEngine({ ...options, baseUrl: server.url });
  const { trainer } = engine;
  const rows = [{ tokens: Int32Array.of(1, 2, 3, 4), promptLength: 2, temperature: 1 }];
  const advantages = Float32Array.of(0.5, -0.25);
  const loss = { name: 'linear', advantages, oldLogprobs: advantages } as const;
  const requests = async (known: boolean): Promise<number | undefined> => {
    await trainer.stats();
    const pass = known ? trainer.forwardBackward?.({ rows }, loss) : trainer.forward({ rows });
    await trainer.backward((await pass)!, { logprobs: advantages.map((A) => -A) });
    await trainer.step({ learningRate: 0.1 });
    return (await trainer.stats())['perf/tinker_requests'];
  };
  // Each is submitted, and polled for once.
  expect([await requests(false), await requests(true)]).toEqual([6, 4]);
  await engine.close();
});

it('neither its probes nor discarded checkpoints leave weights on the server', async () => {
  const saved = async (): Promise<readonly string[]> => {
    const headers = { 'x-api-key': apiKey };
    const response = await fetch(`${server.url}/api/v1/checkpoints`, { headers });
    const { checkpoints } = (await response.json()) as { checkpoints: { tinker_path: string }[] };
    return checkpoints.map((each) => each.tinker_path);
  };
  const before = await saved();
  expect(before.filter((address) => address.includes('probe'))).toEqual([]);
  const { trainer, close } = await createTinkerEngine({ ...options, baseUrl: server.url });
  expect(await saved()).toEqual(before);
  const directory = path.join(modelPath, 'discarded');
  await trainer.save(directory, { optimizer: true });
  expect(await saved()).toHaveLength(before.length + 2);
  await trainer.discard?.(directory);
  expect(await saved()).toEqual(before);
  // A folder of other files, and one whose record is damaged.
  await trainer.discard?.(modelPath);
  writeFileSync(path.join(directory, 'tinker.json'), '{');
  await trainer.discard?.(directory);
  await close();
});

it.each([
  [true, 64],
  [false, 65],
])(
  'rows leave room for one more token only where texts are scored (%s)',
  async (samples, length) => {
    const engine = await createTinkerEngine({ ...options, samples, baseUrl: server.url });
    expect(engine.sampler.maxModelLen).toBe(length);
    const row = { tokens: new Int32Array(length).fill(1), promptLength: 1, temperature: 1 };
    expect((await engine.trainer.forward({ rows: [row] })).logprobs).toHaveLength(length - 1);
    await engine.close();
  },
);

it('an opening that fails leaves no adapter on the server', async () => {
  const small = await openTinkerServer({
    model: {
      name: 'bigrams',
      maxModelLen: 65,
      open: async () => fakeEngine({ vocabSize, maxModelLen: 65 }),
    },
    directory: path.join(modelPath, 'small'),
    runtime: testRuntime(),
    apiKey,
    maxRuns: 1,
  });
  const places = async (): Promise<unknown> => {
    const headers = { 'x-api-key': apiKey };
    const response = await fetch(`${small.url}/api/v1/training_runs`, { headers });
    return ((await response.json()) as { readonly training_runs: unknown }).training_runs;
  };
  const failed = createTinkerEngine({ ...options, baseUrl: small.url });
  await expect(failed).rejects.toMatchObject({ code: 'TINKER_ONE_ADAPTER' });
  expect(await places()).toEqual([]);

  const alone = { ...options, reference: false, baseUrl: small.url };
  const { trainer, close } = await createTinkerEngine(alone);
  const checkpoint = path.join(modelPath, 'lost');
  await trainer.save(checkpoint, { optimizer: true });
  await trainer.discard?.(checkpoint);
  await close();
  await expect(createTinkerEngine({ ...alone, modelPath: checkpoint })).rejects.toMatchObject({
    code: 'CHECKPOINT_LOST',
  });
  expect(await places()).toEqual([]);
  await small.close();
});

it('a wrong key is refused without being said', async () => {
  const opened = createTinkerEngine({ ...options, apiKey: 'tml-other', baseUrl: server.url });
  const failed: Error = await opened.then(Promise.reject, (error: Error) => error);
  expect(failed).toMatchObject({ code: 'TINKER_FORBIDDEN' });
  expect(failed.message).not.toContain('tml-other');
});

it('a server whose model knows fewer ids is refused', async () => {
  const larger = path.join(modelPath, 'larger');
  mkdirSync(larger);
  const config = { vocab_size: vocabSize + 1, max_position_embeddings: 65 };
  writeFileSync(path.join(larger, 'config.json'), JSON.stringify(config));
  const opened = createTinkerEngine({ ...options, modelPath: larger, baseUrl: server.url });
  await expect(opened).rejects.toMatchObject({ code: 'TINKER_VOCABULARY' });
});
