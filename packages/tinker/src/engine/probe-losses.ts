/** Tests which losses of the protocol a server computes as the protocol defines them. */
import { EngineError } from '@trinity-rft/core';
import type { TokenRow } from '@trinity-rft/core/engine';
import type { ForwardBackwardResult } from '../protocol/index.js';
import type { Pass, RemoteModel } from './remote/model.js';
import { expectedLosses, lossConfig, type ServerLoss } from './train/expected.js';
import { scoreData } from './train/passes.js';
import { datumOf } from './train/rows.js';

/**
 * Returns the names of the losses that the server computes like this engine. The comparison uses
 * tokens with probability ratios inside and outside the clipping bounds. The set is empty if the
 * server reports neither per-token losses nor their sum.
 */
export async function probeLosses(
  model: Pick<RemoteModel, 'pass'>,
  row: TokenRow,
): Promise<ReadonlySet<ServerLoss>> {
  const [logprobs = new Float32Array()] = await scoreData(model, [datumOf(row, {})]);
  const oldLogprobs = logprobs.map((value, t) => value + ((t % 3) - 1) / 2);
  const advantages = logprobs.map((_, t) => (t % 2 === 0 ? 1 : -0.5));
  const data = [datumOf(row, { logprobs: oldLogprobs, advantages })];
  const isAsExpected = async (name: ServerLoss): Promise<boolean> => {
    const loss = { name, low: 0.8, high: 1.2 };
    const pass = { data, lossFn: name, lossConfig: lossConfig(loss), forwardOnly: true };
    const result = await passOf(model, pass);
    const expected = expectedLosses({ ...loss, advantages, oldLogprobs }, logprobs);
    return result !== undefined && agrees(result, expected);
  };
  const names = ['importance_sampling', 'ppo', 'cispo'] as const;
  const found = await Promise.all(names.map(isAsExpected));
  return new Set(names.filter((_, i) => found[i]));
}

/** Sends a pass. Returns undefined if the server does not support the loss of the pass. */
async function passOf(
  model: Pick<RemoteModel, 'pass'>,
  pass: Pass,
): Promise<ForwardBackwardResult | undefined> {
  try {
    return await model.pass(pass);
  } catch (error) {
    if (error instanceof EngineError && /^TINKER_(UNSUPPORTED|REJECTED)$/.test(error.code))
      return undefined;
    throw error;
  }
}

const tolerance = 1e-3;

function agrees({ outputs, metrics }: ForwardBackwardResult, expected: Float32Array): boolean {
  const losses = outputs[0]?.['elementwise_loss'];
  if (losses !== undefined)
    return expected.every((value, t) => Math.abs(value - (losses[t] ?? Infinity)) < tolerance);
  const sum = expected.reduce((total, value) => total + value, 0);
  return Math.abs(sum - (metrics['loss:sum'] ?? Infinity)) < tolerance;
}
