/** Limits on the differences between an export and its checkpoint. */
import type { Precision } from '../format/formats.js';
import type { Parity } from './compare.js';

/** Limits on |difference| of log-probabilities, in nats. An undefined limit does not apply. */
export interface ParityLimits {
  readonly largest?: number;
  readonly mean?: number;
  /** True if greedily sampled text and tool calls must be equal. */
  readonly sameTexts: boolean;
}

/** Tolerance in nats for models with GELU, which llama.cpp computes with a float16 lookup table. */
const tableOfGelu = 5e-3;

/** Returns the limits for the precision of the exported weights. */
export const limitsOf = (precision: Precision, { hasGeluTable = false } = {}): ParityLimits =>
  ({
    float32: { largest: hasGeluTable ? tableOfGelu : 1e-4, sameTexts: true },
    float16: { mean: 0.01, sameTexts: false },
    // bfloat16 is eight times as coarse as float16.
    bfloat16: { mean: 0.05, sameTexts: false },
    'eight-bit': { mean: 0.2, sameTexts: false },
    less: { sameTexts: false },
  })[precision];

/**
 * Returns one sentence per exceeded limit, and one if no prompt was compared. Rendered prompts and
 * token ids must be equal at any precision.
 */
export function faultsOf(
  parity: Parity,
  { largest, mean, sameTexts }: ParityLimits,
): readonly string[] {
  const { renderedPrompts, tokenIds, largestDifference, meanDifference } = parity;
  const shares = {
    'prompts are rendered': renderedPrompts,
    'prompts have the token ids': tokenIds,
    ...(sameTexts && {
      'greedy answers are': parity.greedyTexts,
      'answers have the tool calls': parity.toolCalls,
    }),
  };
  return [
    ...(parity.positions === 0
      ? [
          'No prompt was played: each has characters that the tokenizer has no token for, or leaves no room for an answer. Name prompts of your own: --check FILE.',
        ]
      : []),
    ...Object.entries(shares)
      .filter(([, { equal, of }]) => equal < of)
      .map(([what, { equal, of }]) => `${equal} of ${of} ${what} as the checkpoint's.`),
    ...(largest !== undefined && largestDifference > largest
      ? [
          `The largest difference of a log-probability is ${largestDifference.toPrecision(3)} nats; the limit is ${largest}.`,
        ]
      : []),
    ...(mean !== undefined && meanDifference > mean
      ? [
          `The mean difference of log-probabilities is ${meanDifference.toPrecision(3)} nats; the limit is ${mean}.`,
        ]
      : []),
  ];
}

/**
 * Share of the checkpoint's greedy tokens that are also the export's most probable tokens. Below
 * this share, a quantised export is, in practice, a different model.
 */
const fewBest = 0.9;

export const warningsOf = ({ bestTokens }: Parity): readonly string[] =>
  bestTokens !== undefined && bestTokens.equal < fewBest * bestTokens.of
    ? [
        `Only ${bestTokens.equal} of ${bestTokens.of} best tokens are the checkpoint's. Use more bits (--quantize), or compare rewards before you use it.`,
      ]
    : [];
