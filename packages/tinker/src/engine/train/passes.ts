/** Runs passes over any number of rows, split into requests of a size that servers accept. */
import type { Datum } from '../../protocol/index.js';
import type { RemoteModel } from '../remote/model.js';
import { chunksOf, type GradientPass } from './gradients.js';
import { logprobsOf } from './rows.js';

/** Returns the log-probabilities of the targets of each datum. */
export async function scoreData(
  model: Pick<RemoteModel, 'pass'>,
  data: readonly Datum[],
): Promise<readonly Float32Array[]> {
  const withWeights = data.map(({ tokens, inputs }) => ({
    tokens,
    inputs: { ...inputs, weights: new Float32Array(tokens.length) },
  }));
  return runPass(model, { lossFn: 'cross_entropy', data: withWeights }, true);
}

/**
 * Runs a pass, and returns the log-probabilities of each datum. All its requests are submitted in
 * the current tick of the event loop.
 */
export async function runPass(
  model: Pick<RemoteModel, 'pass'>,
  { data, ...loss }: GradientPass,
  forwardOnly: boolean,
): Promise<readonly Float32Array[]> {
  const results = chunksOf(data).map(async (chunk) =>
    logprobsOf(await model.pass({ data: chunk, ...loss, forwardOnly }), chunk),
  );
  return (await Promise.all(results)).flat();
}
