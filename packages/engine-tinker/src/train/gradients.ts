/** dLoss/dlogprob of rows, gathered until the update, and the passes that make the server apply them. */
import type { ForwardPass, TokenRow } from '@trinity-rft/core/internal';
import { EngineError } from '@trinity-rft/core/internal';
import type { Datum } from '@trinity-rft/tinker-protocol';
import { datumOf } from './rows.js';

/**
 * What a server makes of the losses of tokens. `sum`: adds them. `mean-per-datum`: divides those of
 * a datum by their number, and the gradients of an update by its number of data (SkyRL on JAX).
 */
export type Normalisation = 'sum' | 'mean-per-datum';

interface RowGradient {
  /** Of the targets, 0 within the prompt. [T - 1] */
  readonly gradient: Float32Array;
  /** Log-probabilities of the targets by the current weights, 0 within the prompt. [T - 1] */
  readonly logprobs: Float32Array;
}

export interface GradientSum {
  /** @throws EngineError when the gradients do not fit the pass */
  add(pass: ForwardPass, gradients: Float32Array): void;
  /** What was gathered since the last call. */
  take(): ReadonlyMap<TokenRow, RowGradient>;
}

export function gatherGradients(): GradientSum {
  let rows = new Map<TokenRow, RowGradient>();
  return {
    add: ({ batch, offsets, logprobs }, gradients) => {
      if (gradients.length !== logprobs.length)
        throw new EngineError(
          `There are ${gradients.length} gradients for ${logprobs.length} response tokens.`,
          { code: 'ENGINE_GRADIENTS' },
        );
      const bad = gradients.findIndex((value) => !Number.isFinite(value));
      if (bad >= 0)
        throw new EngineError(
          `The gradient of response token ${bad} is ${gradients[bad]}; expected a finite number.`,
          { code: 'ENGINE_GRADIENTS' },
        );
      for (const [i, row] of batch.rows.entries()) {
        const from = offsets[i];
        const part = gradients.subarray(from, offsets[i + 1]);
        if (part.every((value) => value === 0)) continue;
        const sum = rows.get(row) ?? emptyGradient(row, logprobs.subarray(from, offsets[i + 1]));
        rows.set(row, sum);
        for (const [t, value] of part.entries()) {
          const at = row.promptLength - 1 + t;
          sum.gradient[at] = (sum.gradient[at] ?? 0) + value;
        }
      }
    },
    take: () => {
      const taken = rows;
      rows = new Map();
      return taken;
    },
  };
}

function emptyGradient({ tokens, promptLength }: TokenRow, logprobs: Float32Array): RowGradient {
  const targets = tokens.length - 1;
  const known = new Float32Array(targets);
  known.set(logprobs, promptLength - 1);
  return { gradient: new Float32Array(targets), logprobs: known };
}

export interface GradientPass {
  readonly lossFn: 'cross_entropy' | 'importance_sampling';
  readonly data: readonly Datum[];
}

/**
 * The data whose loss has these gradients at the current weights.
 * - Added up, cross-entropy -sum(w lp) has dL/dlp = -w, so w = -g.
 * - Divided by the T tokens of a datum and the N data of the update, w = -g would be divided by its
 *   own sum. Importance sampling -exp(lp - logprobs) A has dL/dlp = -A / (T N) at logprobs = lp, so
 *   A = -g T N.
 */
export function gradientPass(
  rows: ReadonlyMap<TokenRow, RowGradient>,
  normalisation: Normalisation,
): GradientPass {
  const entries = [...rows];
  if (normalisation === 'sum')
    return {
      lossFn: 'cross_entropy',
      data: entries.map(([row, { gradient }]) =>
        datumOf(row, { weights: gradient.map((value) => -value) }),
      ),
    };
  return {
    lossFn: 'importance_sampling',
    data: entries.map(([row, { gradient, logprobs }]) => {
      const scale = gradient.length * entries.length;
      return datumOf(row, { logprobs, advantages: gradient.map((value) => -value * scale) });
    }),
  };
}

/** Rows of a request: servers limit its size. */
const mostData = 128;
const mostTokens = 1 << 19;

export function chunksOf(data: readonly Datum[]): readonly (readonly Datum[])[] {
  const chunks: Datum[][] = [];
  let tokens = Infinity;
  for (const datum of data) {
    const chunk = chunks.at(-1);
    tokens += datum.tokens.length;
    if (chunk !== undefined && chunk.length < mostData && tokens <= mostTokens) chunk.push(datum);
    else {
      chunks.push([datum]);
      tokens = datum.tokens.length;
    }
  }
  return chunks;
}
