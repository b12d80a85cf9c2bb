import { createExperience, noNeeds, type Experience } from '@trinity-rft/core';
import type { TrainEngine, TokenBatch } from '@trinity-rft/core/engine';
import { fakeEngine } from '@trinity-rft/testing';
import { describe, expect, it } from 'vitest';
import { forwardBatch } from './forward.js';
import { outputMetrics } from './data-metrics.js';
import { packBatch } from './pack.js';

const count = 40;

/** Experiences from the sampler of an engine, as the explorer stores them. */
async function drawn(engine: TrainEngine): Promise<readonly Experience[]> {
  const rows = Array.from({ length: count }, (_, i) => ({
    tokens: Int32Array.of(1, i % 5, (2 * i) % 5),
    promptLength: 1,
    temperature: 1,
  }));
  const { logprobs } = await engine.forward({ rows });
  return rows.map((row, i) =>
    createExperience({
      ...row,
      eid: { batch: 1, task: i },
      logprobs: logprobs.slice(2 * i, 2 * i + 2),
      policyVersion: 7,
    }),
  );
}

/**
 * An engine whose sampler drew all tokens except those of `others`, and the batches that the engine
 * computed.
 */
function setUp(others: readonly Experience[] = []) {
  const { trainer } = fakeEngine({ vocabSize: 5 });
  const computed: TokenBatch[] = [];
  const engine: TrainEngine = {
    ...trainer,
    hasExactLogprobs: (tokens, version) =>
      version === 7 && !others.some((other) => String(other.tokens) === String(tokens)),
    forward: (batch, options) => {
      computed.push(batch);
      return trainer.forward(batch, options);
    },
  };
  const pass = (
    experiences: readonly Experience[],
    { step = 3, needs = { ...noNeeds, entropy: 'metric' as 'metric' | 'value' } } = {},
  ) =>
    forwardBatch(packBatch(experiences), {
      engine,
      needs,
      step,
      time: Object.assign(<T>(_: string, work: Promise<T>) => work, { metrics: () => ({}) }),
      expected: () => undefined,
    });
  return { trainer, computed, pass };
}

describe('a batch that the engine drew itself with the weights that it trains', () => {
  it('computes a row in sixteen and takes the rest as recorded', async () => {
    const { trainer, computed, pass } = setUp();
    const experiences = await drawn(trainer);
    const outputs = await pass(experiences);
    expect(computed.map(({ rows }) => rows)).toEqual([
      [3, 19, 35].map((i) => packBatch(experiences).tokens.rows[i]),
    ]);
    const whole = await trainer.forward(packBatch(experiences).tokens, { entropy: true });
    expect(outputs.currentLogprobs).toEqual(whole.logprobs);
    expect(outputs.pass.offsets).toEqual(whole.offsets);
    const batch = packBatch(experiences);
    const metrics = outputMetrics(batch, outputs, { rollouts: true });
    const sampled = [3, 19, 35].flatMap((i) => [...whole.entropy!.subarray(2 * i, 2 * i + 2)]);
    expect(metrics['training/rollout_logprobs_diff_max']).toBe(0);
    expect(metrics['actor/entropy']).toBeCloseTo(sampled.reduce((a, b) => a + b) / 6, 5);
  });

  it('computes every row in the course of sixteen steps', async () => {
    const { trainer, computed, pass } = setUp();
    const experiences = await drawn(trainer);
    for (let step = 1; step <= 16; step++) await pass(experiences, { step });
    expect(computed.flatMap(({ rows }) => rows)).toHaveLength(count);
  });

  it('fails where a record and the weights differ, naming the experience', async () => {
    const { trainer, pass } = setUp();
    const experiences = await drawn(trainer);
    experiences[19]!.logprobs[1]! -= 0.001;
    await expect(pass(experiences)).rejects.toThrow(
      'Response token 1 of experience 1/19/0/0/ has the log-probability',
    );
  });
});

describe('computes all rows', () => {
  it('of a batch with a row that something else drew', async () => {
    const { trainer } = setUp();
    const experiences = await drawn(trainer);
    const { computed, pass } = setUp([experiences[4]!]);
    await pass(experiences);
    expect(computed.map(({ rows }) => rows.length)).toEqual([count]);
  });

  it('where every entropy is read', async () => {
    const { trainer, computed, pass } = setUp();
    await pass(await drawn(trainer), { needs: { ...noNeeds, entropy: 'value' } });
    expect(computed.map(({ rows }) => rows.length)).toEqual([count]);
  });
});
