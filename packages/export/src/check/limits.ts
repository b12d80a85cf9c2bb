/** Limits on the differences between an export and its checkpoint. */
import type { Precision } from '../format/formats.js';
import type { Parity } from './compare.js';

/**
 * Maximum absolute differences of log-probabilities, in nats. An undefined limit does not apply.
 */
export interface ParityLimits {
  readonly largest?: number;
  readonly mean?: number;
  /** True if the greedy responses and their tool calls must be equal. */
  readonly sameTexts: boolean;
}

/**
 * Maximum difference for models with GELU, in nats. llama.cpp computes GELU with a float16 lookup
 * table.
 */
const tableOfGelu = 5e-3;

/**
 * Returns the limits that apply to a precision of the exported weights. If the checkpoint
 * `isRounded`, the embedded engine computes it in 8 bits, so that finer exports differ as much.
 */
export const limitsOf = (
  precision: Precision,
  { hasGeluTable = false, isRounded = false } = {},
): ParityLimits =>
  ({
    float32: { largest: hasGeluTable ? tableOfGelu : 1e-4, sameTexts: true },
    float16: { mean: 0.01, sameTexts: false },
    // bfloat16 is eight times as coarse as float16.
    bfloat16: { mean: 0.05, sameTexts: false },
    'eight-bit': { mean: 0.2, sameTexts: false },
    less: { sameTexts: false },
  })[isRounded && precision !== 'less' ? 'eight-bit' : precision];

/**
 * Returns one sentence for each limit that is exceeded, and one if no prompt was compared. At every
 * precision, rendered prompts and token ids must be equal.
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
 * Minimum share of the checkpoint's greedy tokens that should be the export's most probable tokens.
 * Below it, a quantised export behaves like a different model.
 */
const fewBest = 0.9;

export const warningsOf = ({ bestTokens, renderedAgain }: Parity): readonly string[] => [
  ...(bestTokens !== undefined && bestTokens.equal < fewBest * bestTokens.of
    ? [
        `Only ${bestTokens.equal} of ${bestTokens.of} best tokens are the checkpoint's. Use more bits (--quantize), or compare rewards before you use it.`,
      ]
    : []),
  ...(renderedAgain !== undefined && renderedAgain.equal < renderedAgain.of
    ? [
        `Only ${renderedAgain.equal} of ${renderedAgain.of} answers with tool calls have the same tokens when the chat template writes them again, as other programs do at each turn. There the model continues a text that it did not write, and rewards, which are measured without that, do not show it. Compare its answers with what render() of loadModel makes of them.`,
      ]
    : []),
];
