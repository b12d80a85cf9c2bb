/** Experiences per train step: as the file sets it, else what one explore step makes. */
import { expertCount } from '@trinity-rft/algorithm/internal';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { AlgorithmConfig } from '../base/resolved.js';

const sizeKey: KeyPath = ['buffer', 'train_batch_size'];
const uses: readonly KeyPath[] = [
  ['buffer', 'batch_size'],
  ['algorithm', 'repeat_times'],
  ['algorithm', 'algorithm_type'],
];

/** Experts count too. Pairs instead of experiences if the algorithm learns from pairs. */
export function deriveTrainBatchSize(context: StageContext, algorithm: AlgorithmConfig): number {
  const { buffer } = context.input;
  const perStep = buffer.batch_size * algorithm.repeatTimes;
  const share = expertShare(algorithm);
  if (buffer.train_batch_size > 0) {
    if (context.mode === 'both') checkFit(context, algorithm, perStep, share);
    return buffer.train_batch_size;
  }
  if (context.mode === 'train' && !context.isSet('buffer', 'batch_size'))
    context.report(
      sizeKey,
      'is not set. Mode train needs the number of experiences per train step, for example 64.',
      uses,
    );
  return batchWith(perStep, share);
}

/** `perStep`: runs of an explore step, each of which makes an experience or more. */
function checkFit(
  context: StageContext,
  algorithm: AlgorithmConfig,
  perStep: number,
  share: number,
): void {
  const { batch_size: tasks, train_batch_size: size } = context.input.buffer;
  const experts = expertCount(share, size);
  const explored = size - experts;
  const sum = `batch_size ${tasks} x repeat_times ${algorithm.repeatTimes} = ${perStep}`;
  if (explored > perStep) {
    const isFixed = context.input.synchronizer.sync_style === 'fixed';
    if (!isFixed || makesMany(context, algorithm)) return;
    const own = experts === 0 ? '' : `, ${explored} of them from the explorer`;
    context.report(
      sizeKey,
      `got ${size}${own}, but an explore step makes ${sum} experiences, so with sync_style fixed explorer and trainer would wait for each other. Use at most ${batchWith(perStep, share)}, or sync_style: explorer_driven.`,
      [...uses, ['synchronizer', 'sync_style']],
    );
  } else if (explored > 0 && perStep % explored !== 0)
    context.warn(
      sizeKey,
      `${explored} does not divide ${sum}; what is left of a step waits for the next one.`,
    );
}

/** A run may make several experiences: one for each call of the model. */
const makesMany = ({ tables }: StageContext, { advantageFn }: AlgorithmConfig): boolean =>
  tables.advantageFns[advantageFn?.name ?? '']?.experiencesPerRun === 'many';

/**
 * Rows of a batch with `own` experiences of the model in addition to the experts; 1e-9 absorbs
 * rounding.
 */
const batchWith = (own: number, share: number): number =>
  share < 1 ? Math.floor(own / (1 - share) + 1e-9) : own;

/** Share of experts in a train batch. */
function expertShare({ sampleStrategy: { name, args } }: AlgorithmConfig): number {
  const { expertDataRatio: share } = args;
  return name === 'mix' && typeof share === 'number' ? share : 0;
}
