/** Runs that train and sample on our own server of the Tinker protocol. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Engine } from '@trinity-rft/core/engine';
import { readCurve } from '@trinity-rft/monitor';
import { openTinkerServer, type TinkerServer } from '@trinity-rft/tinker/server';
import { fakeEngine, testRuntime } from '@trinity-rft/testing';
import { defineReward } from '@trinity-rft/workflow';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createModel } from '../src/create-model.js';
import { run, type RunOptions } from '../src/run/run.js';
import { usedSteps } from './support/used-steps.js';

const root = mkdtempSync(path.join(tmpdir(), 'trinity-tinker-run-'));
const apiKey = 'tml-run';
const characters = '0123456789+=\n';
/** Vocab size of the characters, and the tokens that begin and end texts. */
const vocabSize = 15;
let server: TinkerServer;

/** Fault of the server, called before each train step and each saving of a model. */
let fault: (verb: 'step' | 'save') => void = () => undefined;
const faulty = (engine: Engine): Engine => ({
  ...engine,
  trainer: {
    ...engine.trainer,
    step: async (options) => {
      fault('step');
      return engine.trainer.step(options);
    },
    save: async (...options) => {
      fault('save');
      return engine.trainer.save(...options);
    },
  },
});

const startServer = (port: number): Promise<TinkerServer> =>
  openTinkerServer({
    model: {
      name: 'bigrams',
      maxModelLen: 21,
      open: async () => faulty(fakeEngine({ vocabSize, maxModelLen: 21 })),
    },
    directory: path.join(root, 'server'),
    runtime: testRuntime(),
    apiKey,
    port,
  });

beforeAll(async () => {
  await createModel({ directory: path.join(root, 'model'), tokenizer: { characters }, seed: 1 });
  const rows = ['1+2=', '3+4=', '5+1='].map((question) =>
    JSON.stringify({ question, answer: '3' }),
  );
  writeFileSync(path.join(root, 'tasks.jsonl'), rows.join('\n'));
  server = await startServer(0);
});
afterAll(async () => {
  await server.close();
  rmSync(root, { recursive: true, force: true });
});

const digits = defineReward({
  name: 'digits',
  score: ({ response }) => response.replaceAll(/\D/g, '').length,
});

const runOnServer = (
  name: string,
  steps: number,
  changes: Readonly<Record<string, unknown>>,
  more: Partial<RunOptions> = {},
) => {
  const config = {
    name,
    checkpoint_root_dir: 'runs',
    model: {
      model_path: 'model',
      max_prompt_tokens: 16,
      max_response_tokens: 4,
      tinker: { enable: true, base_url: server.url, rank: 4 },
    },
    buffer: {
      batch_size: 2,
      total_steps: steps,
      explorer_input: {
        taskset: {
          path: 'tasks.jsonl',
          format: { prompt_key: 'question', response_key: 'answer' },
        },
        default_workflow_type: 'simple_workflow',
        default_reward_fn_type: 'digits',
      },
    },
    ...changes,
  };
  const configPath = path.join(root, `${name}.yaml`);
  writeFileSync(configPath, JSON.stringify(config));
  const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };
  const env = { TINKER_API_KEY: apiKey };
  return run({ configPath, cwd: root, rewardFns: [digits], terminal, env, ...more });
};

const ppo = { algorithm: { algorithm_type: 'ppo', repeat_times: 2 } };
const weightsOf = (checkpoint = ''): Buffer =>
  readFileSync(path.join(checkpoint, 'critic', 'model.safetensors'));

it('a critic is trained by the embedded engine, and continues with the policy', async () => {
  const whole = await runOnServer('whole', 2, ppo);
  const half = await runOnServer('parts', 1, ppo);
  const parts = await runOnServer('parts', 2, ppo);
  expect([whole.trainStep, half.trainStep, parts.trainStep]).toEqual([2, 1, 2]);
  expect(existsSync(path.join(whole.checkpoint ?? '', 'tinker.json'))).toBe(true);
  expect(weightsOf(whole.checkpoint).equals(weightsOf(half.checkpoint))).toBe(false);
  expect(weightsOf(parts.checkpoint).equals(weightsOf(whole.checkpoint))).toBe(true);
});

it('the loss of grpo takes a pass less than one that the server does not have', async () => {
  const requests = async (loss: string): Promise<number> => {
    const { jobDirectory } = await runOnServer(`requests-${loss}`, 2, {
      algorithm: {
        algorithm_type: 'grpo',
        repeat_times: 4,
        policy_loss_fn: loss,
        kl_loss_fn: 'none',
      },
    });
    const file = path.join(jobDirectory, 'monitor', 'metrics.jsonl');
    const curve = await readCurve(file, { role: 'trainer', metric: 'perf/tinker_requests' });
    return curve.at(-1) ?? Number.NaN;
  };
  expect((await requests('gspo')) - (await requests('ppo'))).toBe(2);
});

it('a critic needs weights here that have the tokens of the policy', async () => {
  const { file, other } = await foldersWithoutFit();
  const withModel = (changes: object) => ({
    ...ppo,
    model: {
      max_prompt_tokens: 16,
      max_response_tokens: 4,
      tinker: { enable: true, base_url: server.url },
      ...changes,
    },
  });
  await expect(runOnServer('bare', 1, withModel({ model_path: file }))).rejects.toThrow(
    /critic_model_path: is not set, so the critic would start from model.model_path/,
  );
  await expect(
    runOnServer('other', 1, withModel({ model_path: 'model', critic_model_path: other })),
  ).rejects.toThrow(/critic_model_path: .*other has another text for the token id/);
});

/**
 * Two folders that do not fit: one without weights, and one whose token ids mean other characters.
 */
async function foldersWithoutFit(): Promise<{ readonly file: string; readonly other: string }> {
  const [file, other] = [path.join(root, 'bare'), path.join(root, 'other')];
  await createModel({ directory: file, tokenizer: { characters }, seed: 1 });
  rmSync(path.join(file, 'model.safetensors'));
  await createModel({ directory: other, tokenizer: { characters: '9876543210+=\n' }, seed: 1 });
  return { file, other };
}

describe('a run whose server fails', () => {
  const grpo = {
    algorithm: { algorithm_type: 'grpo', repeat_times: 2, kl_loss_fn: 'none' },
    trainer: { save_interval: 1 },
  };
  afterEach(() => {
    fault = () => undefined;
  });

  const checkpointOf = (name: string, step: number): string =>
    path.join(root, 'runs', 'Trinity-RFT', name, `global_step_${step}`);

  const expectNothingTwice = async (name: string, steps: number): Promise<void> => {
    const { trainStep, checkpoint = '', jobDirectory } = await runOnServer(name, steps, grpo);
    expect(trainStep).toBe(steps);
    const record = JSON.parse(readFileSync(path.join(checkpoint, 'tinker.json'), 'utf8')) as object;
    expect(record).toMatchObject({ step: steps });
    const used = usedSteps(path.join(jobDirectory, 'buffer', 'experience_buffer.db'));
    expect(used).toEqual(Array.from({ length: steps }, (_, i) => [i + 1, 4]));
  };

  it('goes on by itself from its last checkpoint on one that was started again', async () => {
    let restarted: Promise<void> | undefined;
    fault = (verb) => {
      if (verb !== 'step' || restarted || !existsSync(checkpointOf('restart', 1))) return;
      const port = Number(new URL(server.url).port);
      restarted = server.close().then(async () => void (server = await startServer(port)));
    };
    expect((await runOnServer('restart', 3, grpo)).trainStep).toBe(3);
    expect(restarted).toBeDefined();
    await restarted;
    await expectNothingTwice('restart', 3);
  });

  it('goes on from its last checkpoint when the disk there has space again', async () => {
    fault = (verb) => {
      if (verb === 'save' && existsSync(checkpointOf('full', 1)))
        throw new RangeError('ENOSPC: no space left on device, write');
    };
    await expect(runOnServer('full', 3, grpo)).rejects.toThrow(/no space left.*Free space/);
    expect(existsSync(checkpointOf('full', 2))).toBe(false);
    fault = () => undefined;
    await expectNothingTwice('full', 3);
  });

  it.each(['memory', 'checkpoint'])(
    'continues from the weights that it has published to explorers in other processes, by %s',
    async (method) => {
      const name = `published-${method}`;
      const changes = {
        ...grpo,
        synchronizer: { sync_method: method },
        trainer: { save_interval: 3 },
      };
      const side = (overrides: NonNullable<RunOptions['overrides']>, signal?: AbortSignal) =>
        runOnServer(name, 3, changes, { overrides, signal });
      const ended = new AbortController();
      const explorer = side({ mode: 'explore', explorer: { name: 'one' } }, ended.signal);
      const metrics = path.join(root, 'runs', 'Trinity-RFT', name, 'monitor', 'metrics.jsonl');
      fault = (verb) => {
        if (verb !== 'step' || !existsSync(metrics)) return;
        if (!readFileSync(metrics, 'utf8').includes('"role":"trainer"')) return;
        throw new RangeError('The second step fails.');
      };
      await expect(side({ mode: 'train' })).rejects.toThrow('The second step fails.');
      fault = () => undefined;
      try {
        expect((await side({ mode: 'train' })).trainStep).toBe(3);
      } finally {
        ended.abort();
        await explorer;
      }
    },
  );
});
