/**
 * Accumulates gradients with respect to log-probabilities, per row, until the optimizer step, and
 * builds the pass that transfers them to the server.
 */
import { EngineError } from '@trinity-rft/core';
import type { ForwardPass, TokenRow } from '@trinity-rft/core/engine';
import type { Datum } from '../../protocol/index.js';
import { datumOf } from './rows.js';

/**
 * How a server normalises token losses. With `sum`, it adds them up. With `mean-per-datum`, it
 * divides the loss of each datum by the number of its targets, and the gradients of an optimizer
 * step by the number of its datums (SkyRL on JAX).
 */
export type Normalisation = 'sum' | 'mean-per-datum';

interface RowGradient {
  /**
   * Gradient with respect to the log-probability of each target; 0 for targets in the prompt. [T -
   * 1]
   */
  readonly gradient: Float32Array;
  /**
   * Log-probability of each target under the current weights; 0 for targets in the prompt. [T - 1]
   */
  readonly logprobs: Float32Array;
}

type RowGradients = ReadonlyMap<TokenRow, RowGradient>;

export interface Gathered {
  readonly rows: RowGradients;
  /**
   * Gradients that the server has already accumulated. On a server that averages, they are
   * multiplied by the number of datums in the pass that computed them.
   */
  readonly sent: RowGradients;
  /** Number of datums whose gradients the server has already accumulated. */
  readonly sentData: number;
}

export interface GradientSum {
  /**
   * Adds gradients that the next optimizer step must apply.
   * @throws EngineError if their number is wrong or one is not finite
   */
  add(pass: ForwardPass, gradients: Float32Array): void;
  /**
   * Records gradients that the server has already accumulated. The same gradients must also be
   * passed to {@link add}.
   */
  sent(pass: ForwardPass, gradients: Float32Array): void;
  /** Returns the gradients accumulated since the last call, and clears them. */
  take(): Gathered;
}

export function gatherGradients(normalisation: Normalisation): GradientSum {
  let rows = new Map<TokenRow, RowGradient>();
  let sent = new Map<TokenRow, RowGradient>();
  let sentData = 0;
  return {
    add: (pass, gradients) => {
      checkGradients(pass, gradients);
      addRows(rows, pass, gradients);
    },
    sent: (pass, gradients) => {
      const { length } = pass.batch.rows;
      sentData += length;
      const factor = normalisation === 'sum' ? 1 : length;
      addRows(
        sent,
        pass,
        gradients.map((value) => value * factor),
      );
    },
    take: () => {
      const taken = { rows, sent, sentData };
      rows = new Map();
      sent = new Map();
      sentData = 0;
      return taken;
    },
  };
}

function checkGradients({ logprobs }: ForwardPass, gradients: Float32Array): void {
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
}

/**
 * Adds gradients to the sums in a map with one entry per row. Omits rows whose gradients are all 0.
 */
function addRows(
  sums: Map<TokenRow, RowGradient>,
  { batch, offsets, logprobs }: ForwardPass,
  gradients: Float32Array,
): void {
  for (const [i, row] of batch.rows.entries()) {
    const from = offsets[i];
    const part = gradients.subarray(from, offsets[i + 1]);
    if (part.every((value) => value === 0)) continue;
    const sum = sums.get(row) ?? emptyGradient(row, logprobs.subarray(from, offsets[i + 1]));
    sums.set(row, sum);
    for (const [t, value] of part.entries()) {
      const at = row.promptLength - 1 + t;
      sum.gradient[at] = (sum.gradient[at] ?? 0) + value;
    }
  }
}

function emptyGradient({ tokens, promptLength }: TokenRow, logprobs: Float32Array): RowGradient {
  const targets = tokens.length - 1;
  const known = new Float32Array(targets);
  known.set(logprobs, promptLength - 1);
  return { gradient: new Float32Array(targets), logprobs: known };
}

export interface GradientPass {
  readonly lossFn: 'cross_entropy' | 'importance_sampling' | 'ppo' | 'cispo';
  /** Settings of the loss. @default undefined: the loss needs no settings */
  readonly lossConfig?: Readonly<Record<string, number>>;
  readonly data: readonly Datum[];
}

/**
 * Builds the pass that gives the server the gradients that it still lacks at the current weights.
 * Notation: lp is the log-probability of a target under the current weights, and g the missing
 * gradient dL/dlp.
 * - On a server that sums, cross-entropy is -sum(w lp) with weights w. Its derivative is -w, so w =
 * -g.
 * - On a server that averages, cross-entropy would be divided by the sum of w. The pass therefore
 * uses importance sampling, -exp(lp - logprobs) A, with advantages A. The server divides its
 * derivative by the T targets of the datum and the N datums of the optimizer step. At logprobs =
 * lp, the derivative is -A / (T N), so A = -g T N. Each datum of this pass increases N, which
 * reduces the weight of gradients that the server has already accumulated.
 */
export function gradientPass(gathered: Gathered, normalisation: Normalisation): GradientPass {
  const { sentData } = gathered;
  const isSum = normalisation === 'sum';
  const lacking = lackingRows(gathered, isSum || sentData === 0 ? 1 : 1 / sentData);
  if (isSum || lacking.length === 0)
    return {
      lossFn: 'cross_entropy',
      data: lacking.map(([row, { gradient }]) =>
        datumOf(row, { weights: gradient.map((value) => -value) }),
      ),
    };
  const added = new Set([...gathered.rows.keys(), ...gathered.sent.keys()]).size;
  const count = sentData + added;
  const rest = lackingRows(gathered, 1 / count, true);
  return {
    lossFn: 'importance_sampling',
    data: rest.map(([row, { gradient, logprobs }]) => {
      const scale = gradient.length * count;
      return datumOf(row, { logprobs, advantages: gradient.map((value) => -value * scale) });
    }),
  };
}

/**
 * Relative difference below which two gradients are considered equal. Rounding makes two float32
 * computations of the same gradient differ by less than this.
 */
const noise = 1e-5;

/**
 * Returns rows with the gradients that the server still lacks.
 * @param worth factor by which the gradients that the server already has are scaled
 * @param all true to include rows for which no gradients are missing
 */
function lackingRows(
  { rows, sent }: Gathered,
  worth: number,
  all = false,
): readonly (readonly [TokenRow, RowGradient])[] {
  const union = new Map([...sent, ...rows]);
  const lacking = [...union].map(([row, { gradient: some, logprobs }]) => {
    const [wanted, there] = [rows.get(row)?.gradient, sent.get(row)?.gradient];
    const gradient = some.map((_, t) => {
      const [a, b] = [wanted?.[t] ?? 0, (there?.[t] ?? 0) * worth];
      return Math.abs(a - b) <= noise * (Math.abs(a) + Math.abs(b)) ? 0 : a - b;
    });
    return [row, { gradient, logprobs }] as const;
  });
  return lacking.filter(([, { gradient }]) => all || gradient.some((value) => value !== 0));
}

/** Maximum numbers of datums and tokens per request, because servers limit the size of requests. */
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
