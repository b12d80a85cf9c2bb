/** Resolves the correction for a sampler whose log-probabilities differ from the trainer's. */
import {
  rejectionNames,
  type RejectionOption,
  type RolloutCorrection,
} from '@trinity-rft/algorithm/internal';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';

const at = (key: string): KeyPath => ['algorithm', 'rollout_correction', key];

/** Returns the settings of the correction, or undefined if there is none. */
export function deriveRolloutCorrection(
  context: StageContext,
  needsRollouts: boolean,
): RolloutCorrection | undefined {
  const { rollout_correction: input, algorithm_type: type } = context.input.algorithm;
  if (input.bypass_mode) {
    warnOfUnused(context);
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
  const range = rangeOf(String(input.rollout_is_threshold));
  return {
    weights: level === null ? undefined : { level, ...range, normalize },
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

function warnOfUnused(context: StageContext): void {
  for (const key of others)
    if (context.isSet(...at(key))) context.warn(at(key), 'ignored. It needs bypass_mode: false.');
}

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
    const range = rangeOf(thresholds[i] ?? thresholds[0] ?? '');
    const isRange = range.lower !== undefined;
    if (range.upper > 0 && (!isRange || (name.endsWith('k1') && range.lower > 0)))
      return [{ name, ...range }];
    context.report(
      at('rollout_rs_threshold'),
      `is not a threshold of ${name}. Expected a number above 0${name.endsWith('k1') ? ', or two such as 0.5_2.0' : ''}.`,
      [at('rollout_rs')],
    );
    return [];
  });
}

const listOf = (value: string | null): readonly string[] =>
  (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const isOption = (name: string): name is RejectionOption['name'] =>
  rejectionNames.some((known) => known === name);

function rangeOf(threshold: string): { readonly upper: number; readonly lower?: number } {
  const [first = Number.NaN, second] = threshold.split('_').map(Number);
  return second === undefined ? { upper: first } : { lower: first, upper: second };
}
