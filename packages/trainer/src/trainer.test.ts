import { CancelledError, createExperience, type MetricRecord, noNeeds } from '@trinity-rft/core';
import type { ExperienceSource, Lease } from '@trinity-rft/core/store';
import { fakeEngine, testRuntime } from '@trinity-rft/testing';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { listCheckpoints, writeCheckpoint } from './checkpoint/checkpoint.js';
import { createTrainer, type TrainerOptions } from './trainer.js';

let root: string;
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'trainer-'));
});
afterEach(() => rm(root, { recursive: true }));

const experience = (run: number, reward: number) =>
  createExperience({
    eid: { batch: 1, task: 0, run },
    tokens: [1, 2, 3],
    promptLength: 1,
    logprobs: [-2, -2],
    policyVersion: 0,
    temperature: 1,
    reward,
  });

/** Source of leases with one experience each. The journal records how each lease ended. */
function source(
  rewards: readonly number[],
  journal: string[],
  advantages = true,
): ExperienceSource {
  let next = 0;
  return {
    take: async (): Promise<Lease | undefined> => {
      const index = next++;
      if (index >= rewards.length) return undefined;
      const row = experience(index, rewards[index]!);
      return {
        experiences: [
          advantages
            ? { ...row, advantages: Float32Array.of(rewards[index]!, rewards[index]!) }
            : row,
        ],
        metrics: {},
        acknowledge: async (step) => void journal.push(`ack ${index} by ${step}`),
        release: async () => void journal.push(`release ${index}`),
      };
    },
    rollback: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** Policy gradient: loss = -sum advantage * logprob. */
const policyGradient: TrainerOptions['algorithm'] = {
  needs: { ...noNeeds, rollouts: true },
  loss: ({ advantages, currentLogprobs }) => ({
    loss: -advantages.reduce((sum, advantage, i) => sum + advantage * currentLogprobs[i]!, 0),
    gradLogprobs: advantages.map((advantage) => -advantage),
    metrics: { pg_loss: 1 },
  }),
};

function setUp(over: Partial<TrainerOptions> & { readonly source: ExperienceSource }) {
  const runtime = testRuntime();
  const records: MetricRecord[] = [];
  const engine = fakeEngine({ vocabSize: 5 });
  const trainer = createTrainer({
    engine: engine.trainer,
    algorithm: policyGradient,
    trainBatchSize: 1,
    optimizer: { lr: 0.1, lrSchedulerType: 'constant' },
    settings: {},
    jobDirectory: root,
    maxReadTimeoutMs: 1000,
    sink: { write: (record) => void records.push(record), close: () => Promise.resolve() },
    runtime,
    signal: new AbortController().signal,
    ...over,
  });
  return { trainer, runtime, records, engine };
}

describe('createTrainer', () => {
  it('acknowledges each lease with its step, writes a record per step and a final checkpoint', async () => {
    const journal: string[] = [];
    const { trainer, records } = setUp({ source: source([1, -1, 1], journal) });
    const result = await trainer.run(0);
    expect(result).toMatchObject({ step: 3, interrupted: false });
    expect(journal).toEqual(['ack 0 by 1', 'ack 1 by 2', 'ack 2 by 3']);
    expect(records.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(records[0]!.metrics).toMatchObject({
      'actor/pg_loss': 1,
      'critic/rewards/mean': 1,
      'response_length/mean': 2,
      'sample/staleness/mean': 0,
    });
    expect(
      (await listCheckpoints(root)).map(({ manifest }) => [manifest.step, manifest.final]),
    ).toEqual([[3, true]]);
  });

  it('raises the probability of what had a positive advantage', async () => {
    const { trainer, engine } = setUp({ source: source([1, 1, 1, 1], []) });
    const batch = { rows: [{ tokens: Int32Array.of(1, 2, 3), promptLength: 1, temperature: 1 }] };
    const before = await engine.trainer.forward(batch);
    await trainer.run(0);
    const after = await engine.trainer.forward(batch);
    expect(after.logprobs[0]!).toBeGreaterThan(before.logprobs[0]!);
  });

  it('gives the lease back when the engine fails, and fails with its error', async () => {
    const journal: string[] = [];
    const { trainer, engine } = setUp({ source: source([1], journal) });
    engine.failNext('backward', new Error('out of memory'));
    await expect(trainer.run(0)).rejects.toThrow('out of memory');
    expect(journal).toEqual(['release 0']);
    expect(await listCheckpoints(root)).toEqual([]);
  });

  it('names the experience whose gradient is not finite', async () => {
    const broken = {
      ...policyGradient,
      loss: () => ({ loss: 0, gradLogprobs: Float32Array.of(0, Number.NaN), metrics: {} }),
    };
    const { trainer } = setUp({ source: source([1], []), algorithm: broken });
    await expect(trainer.run(0)).rejects.toThrow(
      'The loss gradient of experience 1/0/0/0/, response token 1, is NaN',
    );
  });

  it('rejects rollouts without advantages', async () => {
    const { trainer } = setUp({ source: source([1], [], false) });
    await expect(trainer.run(0)).rejects.toMatchObject({ code: 'ADVANTAGES_MISSING' });
  });

  it('saves every so many steps and continues from the step it is given', async () => {
    const { trainer } = setUp({
      source: source([1, 1, 1, 1, 1], []),
      settings: { saveInterval: 2, totalSteps: 7 },
    });
    expect((await trainer.run(3)).step).toBe(7);
    expect((await listCheckpoints(root)).map(({ manifest }) => manifest.step)).toEqual([4, 6, 7]);
  });

  it('deletes the checkpoints of the steps that it repeats, and keeps the one it continues from', async () => {
    for (const step of [8, 10, 14, 16])
      await writeCheckpoint(root, {
        step,
        final: false,
        fill: (directory) => writeFile(path.join(directory, 'weights'), ''),
      });
    const { trainer } = setUp({
      source: source([1, 1], []),
      settings: { totalSteps: 12, maxCheckpointsToKeep: 2 },
    });
    const { checkpoint } = await trainer.run(10);
    const found = await listCheckpoints(root);
    expect(found.map(({ manifest }) => manifest.step)).toEqual([10, 12]);
    expect(found.at(-1)).toEqual(checkpoint);
  });

  it('stops after the step in progress when it is interrupted, and saves', async () => {
    const abort = new AbortController();
    const journal: string[] = [];
    const { trainer } = setUp({
      source: source([1, 1, 1], journal),
      signal: abort.signal,
      sink: { write: () => abort.abort(), close: () => Promise.resolve() },
    });
    expect(await trainer.run(0)).toMatchObject({ step: 1, interrupted: true });
    expect(journal).toEqual(['ack 0 by 1']);
    expect(
      (await listCheckpoints(root)).map(({ manifest }) => [manifest.step, manifest.final]),
    ).toEqual([[1, false]]);
  });

  it('leaves the checkpoint that it continues from as it is when it is stopped before a step', async () => {
    const { trainer } = setUp({ source: source([1], []) });
    await trainer.run(0);
    const [finished] = await listCheckpoints(root);
    const stopped = setUp({ source: source([1], []), signal: AbortSignal.abort() });
    expect(await stopped.trainer.run(1)).toMatchObject({ step: 1, interrupted: true });
    expect(finished?.manifest.final).toBe(true);
    expect(await listCheckpoints(root)).toEqual([finished]);
  });

  it('saves nothing when it is stopped before the first step', async () => {
    const { trainer } = setUp({ source: source([1], []), signal: AbortSignal.abort() });
    expect(await trainer.run(0)).toEqual({ step: 0, interrupted: true, checkpoint: undefined });
    expect(await listCheckpoints(root)).toEqual([]);
  });

  it('saves nothing when an update is cancelled, which may have been applied', async () => {
    const abort = new AbortController();
    const { trainer, engine } = setUp({ source: source([1], []), signal: abort.signal });
    const { step } = engine.trainer;
    vi.spyOn(engine.trainer, 'step').mockImplementation(async (options) => {
      await step.call(engine.trainer, options);
      abort.abort();
      throw new CancelledError('The engine was closed.', { reason: 'shutdown' });
    });
    await expect(trainer.run(0)).rejects.toMatchObject({ code: 'UPDATE_CUT_OFF' });
    expect(await listCheckpoints(root)).toEqual([]);
  });

  it('saves nothing when a step that was applied cannot be acknowledged before the stop', async () => {
    const abort = new AbortController();
    const given = source([1], []);
    const stopped: ExperienceSource = {
      ...given,
      take: async (...args) => {
        const lease = await given.take(...args);
        const acknowledge = async (): Promise<void> => {
          abort.abort();
          throw new CancelledError('The store stayed locked.', { reason: 'shutdown' });
        };
        return lease && { ...lease, acknowledge };
      },
    };
    const { trainer } = setUp({ source: stopped, signal: abort.signal });
    await expect(trainer.run(0)).rejects.toMatchObject({ code: 'UPDATE_CUT_OFF' });
    expect(await listCheckpoints(root)).toEqual([]);
  });

  it('warns once if a loss has no gradient although there are advantages', async () => {
    const warningsOf = async (rewards: readonly number[]): Promise<readonly string[]> => {
      const { trainer, runtime } = setUp({
        source: source(rewards, []),
        algorithm: {
          ...policyGradient,
          loss: (input) => ({
            ...policyGradient.loss(input),
            gradLogprobs: new Float32Array(input.advantages.length),
          }),
        },
      });
      await trainer.run(0);
      return runtime.logger.messages('warn');
    };
    expect(await warningsOf([0, 1, -1])).toEqual([
      expect.stringMatching(/^Train step 2 learned nothing: the gradient of the policy loss is 0/),
    ]);
    expect(await warningsOf([0, 0])).toEqual([]);
  });

  it('says what it waits for when experiences do not come', async () => {
    let deliver: (lease: undefined) => void = () => undefined;
    const asked = Promise.withResolvers<void>();
    const slow: ExperienceSource = {
      ...source([], []),
      take: () => (asked.resolve(), new Promise((resolve) => (deliver = resolve))),
    };
    const { trainer, runtime } = setUp({ source: slow });
    const running = trainer.run(0);
    await asked.promise;
    await runtime.clock.advance(2000);
    expect(runtime.logger.messages('warn')).toEqual([
      'Train step 1 has been waiting for 1 experience for 1 s (buffer max_read_timeout).',
      'Train step 1 has been waiting for 1 experience for 2 s (buffer max_read_timeout).',
    ]);
    expect(runtime.logger.messages('info')).toEqual([]);
    await runtime.clock.advance(3000);
    expect(runtime.logger.messages('info')).toEqual(['Train step 1 waits for 1 experience.']);
    deliver(undefined);
    await running;
    expect(runtime.clock.sleeping).toBe(0);
  });
});
