/** A real SkyRL server beside the embedded engine, on the same weights. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@trinity-rft/core';
import type { Engine } from '@trinity-rft/core/engine';
import { createOnnxEngine } from '@trinity-rft/engine-onnx';
import { createTinkerEngine } from '@trinity-rft/tinker';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readCurve } from '@trinity-rft/monitor';
import { additionTasks, lengths, runAddition, taughtModel, writeRun } from './support/addition.js';
import { adapterGradient, normWithSharedMatrices } from './support/adapter-gradient.js';
import { usedSteps } from './support/used-steps.js';
import { halfPrecision } from './support/half-precision.js';
import { batch, difference, gradients, learn, logprobsOf } from './support/server-batch.js';
import { findSkyrl, startSkyrl, type SkyrlOptions, type StartedSkyrl } from './support/skyrl.js';

const root = path.join(tmpdir(), `trinity-skyrl-${process.pid}`);
beforeAll(() => void mkdirSync(root, { recursive: true }));
let modelPath = '';
const checkpoint = path.join(root, 'checkpoint');
type Place = Pick<SkyrlOptions, 'modelPath' | 'directory' | 'port'>;
let startOn: (place: Place) => Promise<StartedSkyrl> = () => Promise.reject(new Error(missing));
const start = (port?: number) => startOn({ modelPath, directory: root, port });
let server: StartedSkyrl | undefined;
let missing = '';

beforeAll(async () => {
  const found = await findSkyrl();
  if ('missing' in found) {
    ({ missing } = found);
    return;
  }
  modelPath = await taughtModel(root);
  startOn = (place) => startSkyrl({ ...found, ...place });
  server = await start();
}, 2_400_000);
afterAll(async () => {
  await server?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});
beforeEach(({ skip }) => skip(missing !== '', missing));

const onServer = async <T>(work: (engine: Engine) => Promise<T>): Promise<T> => {
  const engine = await createTinkerEngine({ modelPath, baseUrl: server?.url, rank: 4, seed: 3 });
  try {
    return await work(engine);
  } finally {
    await engine.close();
  }
};

const still = { learningRate: 0, clipGradNorm: 0, weightDecay: 0 };

/** Accumulates the gradients in two calls; the second call has rows without a gradient. */
async function gatherGradients({ trainer }: Engine): Promise<void> {
  const pass = await trainer.forward(batch);
  const halved = (rest: number) => ({
    logprobs: gradients.map((value, i) => (i < 6 ? value / 2 : value * rest)),
  });
  await trainer.backward(pass, halved(1));
  await trainer.backward(pass, halved(0));
}

describe('SkyRL 0.4.0', { tags: ['external'], timeout: 600_000 }, () => {
  it('learns, and its adapter has here the same log-probabilities and gradient norm', () =>
    onServer(async (engine) => {
      const before = await logprobsOf(engine);
      await learn(engine, 3);
      const remote = await logprobsOf(engine);
      const mean = (values: readonly number[]): number =>
        values.reduce((sum, value) => sum + value, 0) / values.length;
      expect(mean(remote)).toBeGreaterThan(mean(before) + 0.5);
      await engine.trainer.save(checkpoint, { optimizer: true });
      const lora = { path: path.join(checkpoint, 'lora_adapter') };
      const local = await createOnnxEngine({ modelPath, lora, threads: 1 });
      try {
        expect(difference(await logprobsOf(local), remote)).toBeLessThan(1e-4);
        await gatherGradients(local);
        const after = path.join(root, 'after');
        const here = normWithSharedMatrices(
          await adapterGradient(local.trainer, checkpoint, after),
        );
        await gatherGradients(engine);
        const { gradNorm: there } = await engine.trainer.step(still);
        report('gradient norms here and there', here, there);
        expect(Math.abs(there / here - 1)).toBeLessThan(1e-3);
        expect(here).toBeGreaterThan(0.1);
      } finally {
        await local.close();
      }
    }));

  it.each(['importance_sampling', 'ppo', 'cispo'] as const)(
    'computes the gradient of %s in one pass as it does in two',
    (name) =>
      onServer(async ({ trainer }) => {
        await learn({ trainer }, 1);
        const { logprobs: now } = await trainer.forward(batch);
        const oldLogprobs = now.map((value, t) => value + ((t % 3) - 1) / 2);
        const expected = { name, advantages: gradients, oldLogprobs, low: 0.8, high: 1.2 };
        const slopes = gradients.map((A, t) => {
          const ratio = Math.exp((now[t] ?? 0) - (oldLogprobs[t] ?? 0));
          const bounded = Math.min(Math.max(ratio, 0.8), 1.2);
          if (name === 'cispo') return -A * bounded;
          return name === 'ppo' && A * bounded < A * ratio ? 0 : -A * ratio;
        });
        const norms: number[] = [];
        for (const passes of ['one', 'two'] as const) {
          await trainer.stats();
          const pass =
            passes === 'one'
              ? await trainer.forwardBackward!(batch, expected)
              : await trainer.forward(batch);
          await trainer.backward(pass, { logprobs: slopes });
          norms.push((await trainer.step(still)).gradNorm);
        }
        const [one = 0, two = 0] = norms;
        report(`gradient norms of ${name} in one pass and in two`, one, two);
        expect(Math.abs(one / two - 1)).toBeLessThan(1e-4);
        expect(two).toBeGreaterThan(0.1);
      }),
  );

  it('continues from a checkpoint in another session', () =>
    onServer(async (engine) => {
      const fresh = await logprobsOf(engine);
      await engine.trainer.load(checkpoint);
      const loaded = await logprobsOf(engine);
      expect(difference(loaded, fresh)).toBeGreaterThan(0.1);
      const pass = await engine.trainer.forward(batch);
      await engine.trainer.backward(pass, { logprobs: gradients });
      expect((await engine.trainer.step(still)).step).toBe(4);
      expect(difference(await logprobsOf(engine), loaded)).toBeLessThan(1e-5);
    }));

  it('samples what was published while training goes on, and each publication in its turn', () =>
    onServer(async (engine) => {
      const prompt = Int32Array.of(1, 2, 3);
      const options = { maxTokens: 6, seed: 4 };
      for (const version of [1, 2]) {
        await engine.trainer.publish(version);
        await engine.sampler.adopt({ kind: 'published' }, version);
        const [sample] = await engine.sampler.sample(prompt, options);
        const tokens = Int32Array.of(...prompt, ...(sample?.tokens ?? []));
        const row = { tokens, promptLength: 3, temperature: 1 };
        const { logprobs } = await engine.trainer.forward({ rows: [row] });
        const sampled = [...(sample?.logprobs ?? [])];
        expect(sample?.policyVersion).toBe(version);
        expect(difference(sampled, [...logprobs])).toBeLessThan(1e-4);
        const trained = await logprobsOf(engine);
        await learn(engine, 2);
        const [again] = await engine.sampler.sample(prompt, options);
        expect([...(again?.tokens ?? [])]).toEqual([...(sample?.tokens ?? [])]);
        expect(difference([...(again?.logprobs ?? [])], sampled)).toBeLessThan(1e-5);
        // Sampling has not put older weights in the place of the trained ones.
        expect(difference(await logprobsOf(engine), trained)).toBeGreaterThan(0.01);
      }
    }));
});

it(
  'SkyRL 0.4.0 over a bfloat16 model is refused before anything is trained',
  { tags: ['external'], timeout: 600_000 },
  async () => {
    const directory = path.join(root, 'half-server');
    mkdirSync(directory);
    const half = halfPrecision(modelPath, path.join(root, 'half'));
    const other = await startOn({ modelPath: half, directory });
    try {
      await expect(
        createTinkerEngine({ modelPath: half, baseUrl: other.url, rank: 4, seed: 3 }),
      ).rejects.toMatchObject({
        code: 'TINKER_PRECISION',
        message: expect.stringContaining('"dtype": "float32"'),
      });
    } finally {
      await other.stop();
    }
  },
);

const trainOnServer = (algorithm: object, steps: number, more: object = {}) => ({
  mode: 'both',
  model: {
    model_path: modelPath,
    ...lengths,
    tinker: { enable: true, base_url: server?.url, rank: 8 },
  },
  algorithm: {
    repeat_times: 8,
    kl_loss_fn: 'none',
    optimizer: { lr: 4e-3, betas: [0.9, 0.95], weight_decay: 0 },
    ...algorithm,
  },
  buffer: { batch_size: 16, total_steps: steps, explorer_input: additionTasks },
  explorer: { runner_per_model: 128 },
  ...more,
});

/** Prints figures that are also of interest if the test passes. */
function report(what: string, ...values: readonly number[]): void {
  const shown = values.map((value) => value.toPrecision(6)).join(', ');
  process.stdout.write(`${what}: ${shown}\n`);
}

const folderOf = (name: string): string => path.join(root, 'runs', 'test', name);
const rewardsOf = (name: string): Promise<readonly number[]> =>
  readCurve(path.join(folderOf(name), 'monitor', 'metrics.jsonl'), {
    role: 'explorer',
    metric: 'rollout/reward/mean',
  });
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Rise of the mean reward from the first four steps (128 runs each) to the last four, in standard
 * errors.
 */
async function rise(name: string): Promise<number> {
  const rewards = await rewardsOf(name);
  const [first, last] = [mean(rewards.slice(0, 4)), mean(rewards.slice(-4))];
  const variance = (first * (1 - first) + last * (1 - last)) / (4 * 128);
  const errors = (last - first) / Math.sqrt(variance);
  report(`reward of ${name} first and last, and the rise in standard errors`, first, last, errors);
  return errors;
}

describe('runs on SkyRL 0.4.0', { tags: ['external'], timeout: 1_500_000 }, () => {
  it('grpo raises the reward of the quickstart', async () => {
    const changes = trainOnServer({ algorithm_type: 'grpo' }, 14);
    expect((await runAddition({ root, name: 'grpo', changes })).trainStep).toBe(14);
    expect(await rise('grpo')).toBeGreaterThan(4);
  });

  it('ppo raises it too, with its critic here', async () => {
    const changes = trainOnServer({ algorithm_type: 'ppo' }, 14, {
      trainer: { trainer_config: { critic: { optim: { lr: 3e-3 } } } },
    });
    const { checkpoint: last = '' } = await runAddition({ root, name: 'ppo', changes });
    expect(existsSync(path.join(last, 'critic', 'model.safetensors'))).toBe(true);
    expect(await rise('ppo')).toBeGreaterThan(3);
  });

  it('killed on either side, a run goes on and trains nothing twice', async () => {
    const name = 'killed';
    const steps = 12;
    const changes = trainOnServer({ algorithm_type: 'grpo' }, steps, {
      trainer: { save_interval: 1 },
    });
    const child = spawnRun(writeRun({ root, name, changes }));
    await checkpointOf(name, 1);
    child.kill('SIGKILL');
    await once(child, 'exit');

    const interrupted = runAddition({ root, name, changes }).catch((error: unknown) => error);
    await checkpointOf(name, 2);
    await server?.stop();
    server = await start(server?.port);
    // A request that was cut off ends the run. Otherwise the run continues by itself.
    const { code } = (await interrupted) as { readonly code?: string };
    expect([undefined, 'ENGINE_WORKER_DIED']).toContain(code);

    const { trainStep, checkpoint: last = '' } = await runAddition({ root, name, changes });
    expect(trainStep).toBe(steps);
    const record = JSON.parse(readFileSync(path.join(last, 'tinker.json'), 'utf8')) as object;
    expect(record).toMatchObject({ step: steps });
    const used = usedSteps(path.join(folderOf(name), 'buffer', 'experience_buffer.db'));
    expect(used).toEqual(Array.from({ length: steps }, (_, i) => [i + 1, 128]));
  });
});

const register = path.join(import.meta.dirname, '../../../tools/register-source.mjs');

function spawnRun(configPath: string): ChildProcess {
  const script = path.join(import.meta.dirname, 'support', 'run-file.ts');
  const sources = ['--conditions=@trinity-rft/source', `--import=${register}`];
  return spawn(process.execPath, [...sources, script, configPath, root], { stdio: 'ignore' });
}

async function checkpointOf(name: string, step: number): Promise<void> {
  const file = path.join(folderOf(name), `global_step_${step}`, 'tinker.json');
  const until = Date.now() + 600_000;
  while (!existsSync(file)) {
    if (Date.now() > until) throw new Error(`${name} has no checkpoint of step ${step}.`);
    await systemClock.sleep(100);
  }
}
