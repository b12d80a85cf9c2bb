import { ModelError, EngineError } from '@trinity-rft/core';

import type { DecodeVariant } from '../model/sampling-graphs.js';
import type { Feeds } from '../runtime/graph-runtime.js';
import { floats, ints } from '../runtime/host-arrays.js';
import { acceptToken, failRequest, isDone, type Choice } from './choice.js';
import { drawToken } from './draw.js';
import type { AnswerConstraint } from './constraint/constraint.js';
import { freePositions, type SamplerKernels } from './kernels.js';
import type { KvPool } from './kv-pool.js';

/**
 * Samples one more token for every row of a pool, in as few graph executions as the row window
 * allows. The caller frees the rows of sequences that have ended.
 */
export async function decodeRows(
  kernels: SamplerKernels,
  weights: Feeds,
  pool: KvPool,
): Promise<void> {
  const rows = pool.owners.length;
  const runs = Math.ceil(rows / kernels.window.max);
  const size = Math.max(Math.ceil(rows / runs), kernels.window.min);
  for (let start = 0; start < rows; start += size) {
    // The last execution is padded with rows that have no owner.
    await decodeRun(
      kernels,
      weights,
      pool,
      start,
      Math.max(Math.min(size, rows - start), kernels.window.min),
    );
  }
}

async function decodeRun(
  kernels: SamplerKernels,
  weights: Feeds,
  pool: KvPool,
  start: number,
  count: number,
): Promise<void> {
  const { variant } = pool;
  const choices = pool.owners.slice(start, start + count) as Choice[];
  const uniforms = Float64Array.from(choices, (choice) => choice.random.next());
  const feeds = { ...rowInputs(variant, choices, uniforms, count), ...pool.feeds(start, count) };
  const result = await kernels.decode(variant, weights, feeds, pool.capacity);
  const rows = new Map(
    [...choices.entries()].flatMap(([i, choice]) => (isDone(choice) ? [] : [[choice, i] as const])),
  );
  try {
    pool.append(rows, result);
  } finally {
    freePositions(result);
  }
  const vocabulary = kernels.config.vocabSize;
  for (const [choice, i] of rows) {
    // Another choice may have made the request fail. The row of this choice may then hold numbers
    // that are not finite, which must not stay in the cache.
    if (isDone(choice)) pool.clear(choice);
    else if (result.kind === 'sampled') accept(choice, result.tokens[i]!, result.logprobs[i]!);
    else {
      const distribution = result.logprobs.subarray(i * vocabulary, (i + 1) * vocabulary);
      drawFrom(choice, distribution, uniforms[i]!);
    }
  }
}

/**
 * Returns the inputs other than weights and cache. Padding rows without a choice read token 0 at
 * position 0.
 */
function rowInputs(
  variant: DecodeVariant,
  choices: readonly Choice[],
  uniforms: Float64Array,
  count: number,
): Feeds {
  const ids = new Int32Array(count);
  const positions = new Int32Array(count);
  const inverseTemperatures = new Float32Array(count).fill(1);
  choices.forEach((choice, i) => {
    ids[i] = choice.newest;
    positions[i] = choice.cached;
    // Greedy choices use temperature 1.
    inverseTemperatures[i] = 1 / (choice.request.plan.temperature || 1);
  });
  const column = [count, 1];
  const inputs = {
    ids: ints(ids, column),
    positions: ints(positions, column),
    inverse_temperature: floats(inverseTemperatures, column),
  };
  if (variant === 'logprobs') return inputs;
  const u = new Float32Array(count);
  u.set(uniforms);
  return { ...inputs, u: floats(u, column) };
}

function drawFrom(choice: Choice, distribution: Float32Array, uniform: number): void {
  const { plan } = choice.request;
  const forbidden = choice.tokens.length < plan.minTokens ? plan.stopTokenIds : undefined;
  const allowed = choice.constraint && allowedTokens(choice.constraint, plan.stopTokenIds);
  if (allowed?.every((may, id) => may === 0 || forbidden?.has(id) === true)) {
    failRequest(choice.request, constraintUnreachable(choice));
    return;
  }
  const { token, logprob, top } = drawToken(distribution, uniform, {
    greedy: plan.temperature === 0,
    topP: plan.topP,
    topK: plan.topK,
    forbidden,
    allowed,
    topLogprobs: plan.topLogprobs,
  });
  accept(choice, token, logprob, top);
}

/** Returns the tokens that may come next, including stop tokens if the response is complete. [V] */
function allowedTokens(
  constraint: AnswerConstraint,
  stopTokenIds: ReadonlySet<number>,
): Uint8Array {
  const { mask, complete } = constraint.allowed();
  const allowed = mask.slice();
  for (const id of stopTokenIds) allowed[id] = complete ? 1 : 0;
  return allowed;
}

function constraintUnreachable(choice: Choice): ModelError {
  return new ModelError(
    `After ${choice.tokens.length} tokens, no token of the vocabulary continues the format that the ` +
      'answer must have. Ask for a format that can be written with this vocabulary, or do not ' +
      'constrain the answer.',
    { status: 400, code: 'constraint_unreachable', details: { tokens: choice.tokens.length } },
  );
}

function accept(
  choice: Choice,
  token: number,
  logprob: number,
  top?: Parameters<typeof acceptToken>[3],
): void {
  if (Number.isFinite(logprob)) acceptToken(choice, token, logprob, top);
  else {
    choice.pool.clear(choice);
    failRequest(choice.request, notFinite('Sampling from', choice.request.policyVersion));
  }
}

/** @param doing start of the message, such as "Sampling from" */
export function notFinite(doing: string, policyVersion: number): EngineError {
  // Weights that are read from files are finite, so that only results can be too large.
  const cause =
    policyVersion === 0
      ? 'the model computes numbers that float32 cannot hold. Use another model or checkpoint.'
      : 'the weights contain NaN or infinity, or numbers so large that results become infinite. ' +
        'Load an earlier checkpoint and lower the learning rate.';
  return new EngineError(
    `${doing} policy version ${policyVersion} gave a log-probability that is not finite: ${cause}`,
    { code: 'ENGINE_NOT_FINITE', details: { policyVersion } },
  );
}
