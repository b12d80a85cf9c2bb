/**
 * The losses of the Tinker protocol: sums over tokens. p is the log-probability that the weights give
 * to a token now, q the one it was sampled with, A its advantage, r = exp(p - q).
 * @see https://tinker-docs.thinkingmachines.ai/tinker/losses
 */

/** Loss of one token, and its derivative by the token's log-probability now. */
interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
}

export interface LossFunction {
  /** Tensors that come with each datum besides `target_tokens`; each has a number for every target. */
  readonly inputs: readonly string[];
  /** Settings with their defaults; undefined: the client has to choose. */
  readonly settings: Readonly<Record<string, number | undefined>>;
  readonly token: (logprob: number, inputs: Numbers, settings: Numbers) => TokenLoss;
}

type Numbers = Readonly<Record<string, number>>;

const sampled = ['logprobs', 'advantages'] as const;
/** Limits of the ratio, not distances from 1. */
const clip = { clip_low_threshold: 0.8, clip_high_threshold: 1.2 } as const;

export const lossFunctions: Readonly<Record<string, LossFunction>> = {
  /** -w p */
  cross_entropy: {
    inputs: ['weights'],
    settings: {},
    token: (p, { weights: w = 0 }) => ({ loss: -w * p, slope: -w }),
  },
  /** -r A */
  importance_sampling: {
    inputs: sampled,
    settings: {},
    token: (p, { logprobs: q = 0, advantages: a = 0 }) => {
      const loss = -Math.exp(p - q) * a;
      return { loss, slope: loss };
    },
  },
  /** -min(r A, clip(r) A) */
  ppo: {
    inputs: sampled,
    settings: clip,
    token: (p, { logprobs: q = 0, advantages: a = 0 }, settings) => {
      const ratio = Math.exp(p - q);
      const free = ratio * a;
      const held = clipped(ratio, settings) * a;
      return { loss: -Math.min(free, held), slope: free <= held ? -free : 0 };
    },
  },
  /** -clip(r) p A, with clip(r) as a constant */
  cispo: {
    inputs: sampled,
    settings: clip,
    token: (p, { logprobs: q = 0, advantages: a = 0 }, settings) => {
      const slope = -clipped(Math.exp(p - q), settings) * a;
      return { loss: slope * p, slope };
    },
  },
  /** -(p A - beta (p - q)^2 / 2) */
  dro: {
    inputs: sampled,
    settings: { beta: undefined },
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
