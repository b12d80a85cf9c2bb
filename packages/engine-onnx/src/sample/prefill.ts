/**
 * Computes keys, values and states of prompts. Reads all prompt tokens except the last one, which
 * is the first input of decoding.
 */
import type { ModelConfig } from '../model/config.js';
import { rowStates } from '../model/row-states.js';
import type { Feeds } from '../runtime/graph-runtime.js';
import { releasePrefix, type Request } from './choice.js';
import { freePositions, type SamplerKernels } from './kernels.js';

/**
 * Reads the prompts of `requests` and sets `prefix` of these requests, except for prompts of one
 * token. Prompts share a graph execution only with prompts of the same padded length. The number of
 * rows stays in the row window unless a single prompt is longer. The keys, values and states of a
 * prompt therefore do not depend on other prompts.
 */
export async function prefillPrompts(
  kernels: SamplerKernels,
  weights: Feeds,
  requests: readonly Request[],
): Promise<void> {
  const byLength = Map.groupBy(
    requests.filter((request) => request.plan.prompt.length > 1),
    (request) => paddedLength(kernels.config, request.plan.prompt.length - 1),
  );
  for (const [length, group] of byLength) {
    const atMost = Math.max(1, Math.floor(kernels.window.max / length));
    const atLeast = Math.ceil(kernels.window.min / length);
    for (let start = 0; start < group.length; start += atMost) {
      const batch = group.slice(start, start + atMost);
      await prefillBatch(kernels, weights, batch, Math.max(batch.length, atLeast), length);
    }
  }
}

/**
 * Returns the padded length of a prompt. Short prompts are not padded, because many have the same
 * length and padding would be expensive. Long prompts are padded to share executions. In models
 * with states, prompts are not padded, because states must not include padding.
 */
function paddedLength(config: ModelConfig, length: number): number {
  return length <= 16 || rowStates(config).length > 0 ? length : Math.ceil(length / 16) * 16;
}

async function prefillBatch(
  kernels: SamplerKernels,
  weights: Feeds,
  requests: readonly Request[],
  rows: number,
  length: number,
): Promise<void> {
  const ids = new Int32Array(rows * length);
  requests.forEach(({ plan }, row) => ids.set(plan.prompt.subarray(0, -1), row * length));
  const data = await kernels.prefill(weights, ids, length);
  let users = requests.length;
  const release = (): void => {
    if (--users === 0) freePositions(data);
  };
  for (const [index, request] of requests.entries()) {
    request.prefix = { data, index, release };
    if (request.settled) releasePrefix(request);
  }
}
