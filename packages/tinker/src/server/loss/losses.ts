/**
 * Losses of the Tinker protocol, which are summed over tokens. Notation: p is a token's
 * log-probability under the current weights, q its log-probability when it was sampled, A its
 * advantage, w its weight, and r = exp(p - q).
 * @see https://tinker-docs.thinkingmachines.ai/tinker/losses
 */

/** Loss of one token, and its derivative with respect to the token's log-probability (`slope`). */
interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
}

export interface LossFunction {
  /**
   * Names of the tensors that each datum needs besides `target_tokens`. Each has one number per
   * target.
   */
  readonly inputs: readonly string[];
  /** Default values of the loss settings, keyed by name. */
  readonly settings: Readonly<Record<string, number>>;
  /**
   * Computes one number per datum, which `token` receives as the input `sequence`. @default
   * undefined: the loss needs no such number
   */
  readonly sequence?: (logprobs: Float32Array, inputs: Columns) => number;
  /**
   * True if targets are trained also where their advantage is 0.
   * @default false
   */
  readonly trainsAll?: boolean;
  readonly token: (logprob: number, inputs: Numbers, settings: Numbers) => TokenLoss;
}

/** Inputs of a loss for one datum, keyed by name. Each has one number per target. [T] each */
type Columns = Readonly<Record<string, Float32Array>>;

type Numbers = Readonly<Record<string, number>>;

const sampled = ['logprobs', 'advantages'] as const;
/** Default clipping bounds of the ratio r itself, not of its distance from 1. */
const clip = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 } as const;

export const lossFunctions: Readonly<Record<string, LossFunction>> = {
  /** Cross-entropy: -w p */
  cross_entropy: {
    inputs: ['weights'],
    settings: {},
    token: (p, { weights: w = 0 }) => ({ loss: -w * p, slope: -w }),
  },
  /** Importance sampling: -r A */
  importance_sampling: {
    inputs: sampled,
    settings: {},
    token: (p, { logprobs: q = 0, advantages: a = 0 }) => {
      const loss = -Math.exp(p - q) * a;
      return { loss, slope: loss };
    },
  },
  /** PPO: -min(r A, clip(r) A) */
  ppo: {
    inputs: sampled,
    settings: clip,
    token: (p, { logprobs: q = 0, advantages: a = 0 }, settings) =>
      clippedLoss(Math.exp(p - q), a, settings),
  },
  /**
   * GSPO-token, arXiv:2507.18071: -min(s A, clip(s) A). Here s = exp(mean of p - q over the tokens
   * in `sequence_ratio_mask`), the same for all tokens of a datum. The loss of each token is
   * differentiated only with respect to that token's p.
   */
  gspo: {
    inputs: [...sampled, 'sequence_ratio_mask'],
    settings: { clip_low_threshold: 1 - 3e-4, clip_high_threshold: 1 + 4e-4 },
    sequence: meanLogRatio,
    token: (_, { sequence = 0, advantages: a = 0 }, settings) =>
      clippedLoss(Math.exp(sequence), a, settings),
  },
  /** CISPO: -clip(r) p A, with clip(r) treated as a constant */
  cispo: {
    inputs: sampled,
    settings: clip,
    token: (p, { logprobs: q = 0, advantages: a = 0 }, settings) => {
      const slope = -clipped(Math.exp(p - q), settings) * a;
      return { loss: slope * p, slope };
    },
  },
  /** DRO: -(p A - beta (p - q)^2 / 2) */
  dro: {
    inputs: sampled,
    settings: { beta: 0.05 },
    trainsAll: true,
    token: (p, { logprobs: q = 0, advantages: a = 0 }, { beta = 0 }) => ({
      loss: -(p * a - (beta / 2) * (p - q) ** 2),
      slope: -(a - beta * (p - q)),
    }),
  },
};

const clipped = (
  ratio: number,
  { clip_low_threshold: low = 0, clip_high_threshold: high = 0 }: Numbers,
): number => Math.min(Math.max(ratio, low), high);

function clippedLoss(ratio: number, advantage: number, settings: Numbers): TokenLoss {
  const free = ratio * advantage;
  const held = clipped(ratio, settings) * advantage;
  return { loss: -Math.min(free, held), slope: free <= held ? -free : 0 };
}

function meanLogRatio(
  logprobs: Float32Array,
  { logprobs: q, sequence_ratio_mask: mask }: Columns,
): number {
  const marked = [...logprobs.keys()].filter((i) => (mask?.[i] ?? 0) !== 0);
  const sum = marked.reduce((total, i) => total + (logprobs[i] ?? 0) - (q?.[i] ?? 0), 0);
  return marked.length === 0 ? 0 : sum / marked.length;
}
