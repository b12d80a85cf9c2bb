/**
 * Resolves the size of a train step: the value of the file, otherwise the size of one explore step.
 */
import { expertCount } from '@trinity-rft/algorithm/internal';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { AlgorithmConfig, SynchronizerConfig, TrainBatchConfig } from '../base/resolved.js';
import { fillsExploreSteps, keptRuns } from '../algorithm/algorithm.js';

const sizeKey: KeyPath = ['buffer', 'train_batch_size'];
const unitKey: KeyPath = ['buffer', 'train_batch_unit'];
const uses: readonly KeyPath[] = [
  ['buffer', 'batch_size'],
  ['algorithm', 'repeat_times'],
  ['algorithm', 'algorithm_type'],
];

/** Settings that determine the staleness of experiences. */
interface Timing {
  readonly synchronizer: SynchronizerConfig;
  readonly stalenessBound: number | undefined;
}

interface TrainBatchNeeds extends Timing {
  readonly algorithm: AlgorithmConfig;
}

/**
 * Returns the size of a train batch. It includes expert rows, and is a number of pairs if the
 * algorithm learns from pairs. By default, mode `both` counts rollouts, each of which may yield any
 * number of experiences.
 */
export function deriveTrainBatch(
  context: StageContext,
  { algorithm, ...timing }: TrainBatchNeeds,
): TrainBatchConfig {
  const { buffer } = context.input;
  const explores = context.mode === 'both';
  const unit = buffer.train_batch_unit ?? (explores ? 'runs' : 'experiences');
  if (!algorithm.needsRollouts && buffer.train_batch_unit !== null)
    context.warn(unitKey, 'ignored. A train step reads rows of the data set.');
  const share = expertShare(algorithm);
  const perExploreStep = buffer.batch_size * (unit === 'tasks' ? 1 : algorithm.repeatTimes);
  const kept = keptRuns(context, algorithm) === 'one' ? buffer.batch_size : perExploreStep;
  const size = buffer.train_batch_size || batchWith(perExploreStep, share);
  if (
    buffer.train_batch_size === 0 &&
    context.mode === 'train' &&
    !context.isSet('buffer', 'batch_size')
  )
    context.report(
      sizeKey,
      'is not set. Mode train needs the number of experiences per train step, for example 64.',
      uses,
    );
  const own = size - expertCount(share, size);
  const batch: TrainBatchConfig = {
    size,
    own,
    unit,
    perExploreStep: explores && unit !== 'experiences' ? perExploreStep : undefined,
    ...(kept < perExploreStep && { keptPerExploreStep: kept }),
    ...(fillsExploreSteps(context) && { takesRest: true }),
  };
  const { replay_buffer: replay } = buffer.trainer_input.experience_buffer;
  if (explores && !replay.enable) explainFit(context, batch, { perExploreStep, kept, timing });
  return batch;
}

interface Fit {
  /** Number of rollouts or tasks per explore step. */
  readonly perExploreStep: number;
  /** Number of these that are trained on. */
  readonly kept: number;
  readonly timing: Timing;
}

/** Warns if an explore step and a train step differ in size, or may differ. */
function explainFit(
  context: StageContext,
  { size, own, unit }: TrainBatchConfig,
  { perExploreStep, kept, timing }: Fit,
): void {
  const { batch_size: tasks } = context.input.buffer;
  if (own <= 0) return;
  const got = own === size ? `got ${own}` : `got ${size}, of which ${size - own} are expert rows`;
  const ofWhich = kept < perExploreStep ? `, of which ${kept} are kept` : '';
  const makes = `an explore step makes ${perExploreStep} ${unit === 'tasks' ? 'tasks' : `runs (batch_size ${tasks} x repeat_times ${perExploreStep / tasks})`}`;
  if (unit === 'experiences')
    context.warn(
      unitKey,
      `experiences are counted, one for each call of the model: ${makes} of one or more experiences${ofWhich}, so it is trained on in ${trainSteps(kept / own)} or more, depending on the calls. ${ageOf(context, timing)} Remove the key to train once per explore step.`,
    );
  else if (own < perExploreStep) {
    const steps = Math.ceil(kept / own);
    if (steps === 1) return;
    context.warn(
      sizeKey,
      `${got}, but ${makes}${ofWhich}, so each is trained on in ${steps} train steps. ${ageOf(context, timing, steps)} Remove the key to train once per explore step.`,
    );
  } else if (own > perExploreStep)
    context.warn(
      sizeKey,
      `${got}, but ${makes}${ofWhich}, so a train step waits for ${Math.ceil(own / perExploreStep)} of them, and their experiences are older. Remove the key to train once per explore step.`,
    );
}

const trainSteps = (count: number): string =>
  `${Math.max(1, Math.ceil(count))} train step${count > 1 ? 's' : ''}`;

/**
 * Returns a sentence about the staleness that experiences reach.
 * @param perExploreStep number of train steps per explore step; undefined if it depends on the
 * number of model calls
 */
function ageOf(
  { input: { buffer, explorer } }: StageContext,
  { synchronizer, stalenessBound: bound }: Timing,
  perExploreStep?: number,
): string {
  const { syncStyle, explorerSyncInterval } = synchronizer;
  const { capacity } = buffer.trainer_input.experience_buffer;
  const inFlight =
    syncStyle === 'fully_async' ? (explorer.max_inflight_batches ?? 2) : explorerSyncInterval;
  const exploreSteps = (bound ?? capacity + inFlight) + 1;
  return perExploreStep === undefined
    ? `sample/staleness then reaches the number of train steps of ${exploreSteps} explore step${exploreSteps === 1 ? '' : 's'}, and no more.`
    : `sample/staleness then reaches ${perExploreStep * exploreSteps - (bound === undefined ? 0 : 1)}, and no more.`;
}

/**
 * Returns the number of train steps for a number of explore steps, if every rollout succeeds and
 * no operator filters any out. Returns undefined if it depends on the number of model calls.
 */
export function trainStepsOf(batch: TrainBatchConfig, exploreSteps: number): number | undefined {
  const cycle = trainCycleOf(batch);
  if (!cycle) return undefined;
  const rest = exploreSteps % cycle.exploreSteps || 0;
  const whole = ((exploreSteps - rest) / cycle.exploreSteps) * cycle.trainSteps;
  return whole + Math.ceil((rest * cycle.rows) / batch.own);
}

interface TrainCycle {
  readonly exploreSteps: number;
  readonly trainSteps: number;
  /** Number of rollouts or tasks per explore step that are trained on. */
  readonly rows: number;
}

/**
 * Returns numbers of explore steps and train steps that end together. Without `takesRest`, a batch
 * covers no more explore steps than its size needs, so one that begins within an explore step may
 * have fewer rows than `own`. Returns undefined if it depends on the number of model calls.
 */
export function trainCycleOf({
  own,
  perExploreStep,
  keptPerExploreStep: rows = perExploreStep,
  takesRest,
}: TrainBatchConfig): TrainCycle | undefined {
  if (perExploreStep === undefined || rows === undefined || own <= 0) return undefined;
  if (takesRest) return { trainSteps: rows, exploreSteps: own, rows };
  const before = Math.ceil(own / perExploreStep) - 1;
  // Each batch takes so many rows of its last explore step more than the batch before it left.
  const trainSteps = Math.ceil(rows / (own - before * rows));
  return { trainSteps, exploreSteps: trainSteps * before + 1, rows };
}

/**
 * Returns the size of a batch with `own` rows of the policy and the given share of expert rows, for
 * which `expertCount` leaves `own` rows. Subtracts 1e-9 to compensate for rounding errors.
 */
const batchWith = (own: number, share: number): number =>
  share < 1 ? Math.ceil(own / (1 - share) - 1e-9) : own;

/** Returns the share of expert rows in a train batch. */
function expertShare({ sampleStrategy: { name, args } }: AlgorithmConfig): number {
  const { expertDataRatio: share } = args;
  return name === 'mix' && typeof share === 'number' ? share : 0;
}
