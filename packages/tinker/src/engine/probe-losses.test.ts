import { EngineError } from '@trinity-rft/core';
import type { ForwardBackwardResult } from '../protocol/index.js';
import { describe, expect, it } from 'vitest';
import { probeLosses } from './probe-losses.js';
import type { Pass } from './remote/model.js';

const row = {
  tokens: Int32Array.from({ length: 9 }, (_, i) => i),
  promptLength: 1,
  temperature: 1,
};
const logprobs = Float32Array.from({ length: 8 }, (_, t) => -1 - t / 8);

type Says = (losses: Float32Array) => Partial<ForwardBackwardResult>;
const eachToken: Says = (losses) => ({ outputs: [{ elementwise_loss: losses }] });

/** A server that clips the ratio at `high` and reports losses in one of several forms. */
const serverOf = (says: Says, high = 1.2) => ({
  pass: async ({ data, lossFn }: Pass): Promise<ForwardBackwardResult> => {
    if (lossFn === 'cross_entropy')
      return { outputType: 'scalar', outputs: [{ logprobs }], metrics: {} };
    if (lossFn === 'cispo') throw new EngineError('No such loss.', { code: 'TINKER_UNSUPPORTED' });
    const { logprobs: old = [], advantages = [] } = data[0]?.inputs ?? {};
    const losses = logprobs.map((p, t) => {
      const [A, ratio] = [advantages[t] ?? 0, Math.exp(p - (old[t] ?? 0))];
      const held = Math.min(Math.max(ratio, 0.8), high);
      return lossFn === 'ppo' ? -Math.min(A * ratio, A * held) : -A * ratio;
    });
    return { outputType: 'scalar', outputs: [], metrics: {}, ...says(losses) };
  },
});

describe('the losses of a server', () => {
  it.each<readonly [string, Says]>([
    ['each token', eachToken],
    [
      'their sum',
      (losses) => ({ metrics: { 'loss:sum': losses.reduce((sum, loss) => sum + loss, 0) } }),
    ],
  ])('are those whose values are as expected, by %s', async (_, says) => {
    expect(await probeLosses(serverOf(says), row)).toEqual(new Set(['importance_sampling', 'ppo']));
  });

  it('are not those that mean something else, or are not said', async () => {
    const other = await probeLosses(serverOf(eachToken, 1.1), row);
    expect(other).toEqual(new Set(['importance_sampling']));
    expect(
      await probeLosses(
        serverOf(() => ({})),
        row,
      ),
    ).toEqual(new Set());
  });

  it('are not known of a server that is away', async () => {
    const gone = new EngineError('Away.', { code: 'ENGINE_WORKER_DIED' });
    const away = { pass: () => Promise.reject(gone) };
    await expect(probeLosses(away, row)).rejects.toBe(gone);
  });
});
