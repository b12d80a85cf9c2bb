/** Resolves the correction for a sampler whose log-probabilities differ from the trainer's. */
import {
  rejectionNames,
  type RejectionOption,
  type RolloutCorrection,
} from '@trinity-rft/algorithm/internal';
import { readThreshold, type ThresholdRange } from '../../schema/threshold-range.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';

const section: KeyPath = ['algorithm', 'rollout_correction'];
const at = (key: string): KeyPath => [...section, key];

/** Returns the settings of the correction, or undefined if there is none. */
export function deriveRolloutCorrection(
  context: StageContext,
  needsRollouts: boolean,
): RolloutCorrection | undefined {
  const { rollout_correction: input, algorithm_type: type } = context.input.algorithm;
  if (input.bypass_mode) {
    const reason = needsRollouts
      ? 'It needs bypass_mode: false.'
      : `${type} learns from answers that were not sampled.`;
    sayIgnored(context, section, others, reason);
    return undefined;
  }
  if (!needsRollouts) {
    context.report(
      at('bypass_mode'),
      `got false, but ${type} learns from answers that were not sampled. Remove rollout_correction.`,
      [['algorithm', 'algorithm_type']],
    );
    return undefined;
  }
  const { rollout_is: level, rollout_is_batch_normalize: normalize } = input;
  const range = readThreshold(String(input.rollout_is_threshold));
  return {
    weights: level === null || !range ? undefined : { level, ...range, normalize },
    rejections: rejectionsOf(context),
  };
}

const others = [
  'rollout_is',
  'rollout_is_threshold',
  'rollout_is_batch_normalize',
  'rollout_rs',
  'rollout_rs_threshold',
];

function rejectionsOf(context: StageContext): readonly RejectionOption[] {
  const { rollout_rs: rs, rollout_rs_threshold: given } =
    context.input.algorithm.rollout_correction;
  const names = listOf(rs);
  const thresholds = listOf(given);
  const wrong = names.find((name) => !isOption(name));
  if (wrong !== undefined) {
    context.report(
      at('rollout_rs'),
      `got "${wrong}", expected some of ${rejectionNames.join(', ')}.`,
    );
    return [];
  }
  if (names.length > 0 && thresholds.length !== 1 && thresholds.length !== names.length) {
    context.report(
      at('rollout_rs_threshold'),
      `has ${thresholds.length} values; expected one, or ${names.length} as rollout_rs has.`,
      [at('rollout_rs')],
    );
    return [];
  }
  return names.filter(isOption).flatMap((name, i) => {
    const range = readThreshold(thresholds[i] ?? thresholds[0] ?? '');
    if (range && fits(name, range)) return [{ name, ...range }];
    context.report(
      at('rollout_rs_threshold'),
      `is not a threshold of ${name}. Expected a number above ${isRatio(name) ? '1, or two such as 0.5_2.0' : '0'}.`,
      [at('rollout_rs')],
    );
    return [];
  });
}

/**
 * Returns true if `name` selects the estimator k1, whose threshold is a range of ratios. Its lower
 * bound is 1 / upper bound by default.
 */
const isRatio = (name: string): boolean => name.endsWith('k1');

function fits(name: string, { lower, upper }: ThresholdRange): boolean {
  if (!isRatio(name)) return lower === undefined;
  const least = lower ?? 1 / upper;
  return least > 0 && least < upper;
}

const listOf = (value: string | null): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const isOption = (name: string): name is RejectionOption['name'] =>
  rejectionNames.some((known) => known === name);
