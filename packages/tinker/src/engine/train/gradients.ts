/**
 * Accumulates, per row, the gradients with respect to log-probabilities until the update, and
 * builds the passes that apply them on the server.
 */
import { EngineError } from '@trinity-rft/core';
import type { ForwardPass, TokenRow } from '@trinity-rft/core/engine';
import type { Datum } from '../../protocol/index.js';
import { datumOf } from './rows.js';

/**
 * Normalisation of token losses by a server. With `sum`, the server adds the losses. With
 * `mean-per-datum`, it divides a datum's losses by the number of its targets, and an update's
 * gradients by the number of its datums (SkyRL on JAX).
 */
export type Normalisation = 'sum' | 'mean-per-datum';

interface RowGradient {
  /** Gradient with respect to the targets' log-probabilities, 0 within the prompt. [T - 1] */
  readonly gradient: Float32Array;
  /** Log-probabilities of the targets under the current weights, 0 within the prompt. [T - 1] */
  readonly logprobs: Float32Array;
}

type RowGradients = ReadonlyMap<TokenRow, RowGradient>;

export interface Gathered {
  readonly rows: RowGradients;
  /**
   * Gradients that the server already has. If the server averages, they are multiplied by the
   * number of datums in their pass.
   */
  readonly sent: RowGradients;
  /** Number of datums that the server already has. */
  readonly sentData: number;
}

export interface GradientSum {
  /**
   * Adds gradients that the update must apply.
   * @throws EngineError if their number is wrong or one is not finite
   */
  add(pass: ForwardPass, gradients: Float32Array): void;
  /**
   * Records gradients that the server already has. The same gradients must also be passed to
   * {@link add}.
   */
  sent(pass: ForwardPass, gradients: Float32Array): void;
  /** Returns and clears the gradients accumulated since the last call. */
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

/** Adds up gradients per row. Omits rows whose gradients are all 0. */
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
  /** Settings of the loss. @default no settings */
  readonly lossConfig?: Readonly<Record<string, number>>;
  readonly data: readonly Datum[];
}

/**
 * Builds the pass that adds the gradients that the server still lacks at the current weights. Here
 * lp are log-probabilities under the current weights, and g the lacking gradients dL/dlp.
 * - On a server that sums, cross-entropy with weights w, -sum(w lp), has dL/dlp = -w, so w = -g.
 * - On a server that divides by the T targets of a datum and the N datums of the update,
 *   cross-entropy would be divided by the sum of w. Importance sampling with advantages A, -exp(lp
 *   - logprobs) A, has dL/dlp = -A / (T N) at logprobs = lp, so A = -g T N. Each datum of this pass
 *   increases N, which reduces the weight of gradients that were sent before.
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
 * Relative difference below which gradients are considered equal. Two float32 computations of the
 * same gradient differ by less.
 */
const noise = 1e-5;

/**
 * Returns rows with the gradients that the server still lacks.
 * @param worth factor that scales the gradients already sent
 * @param all true to include rows that lack no gradients
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
