/**
 * Checks the needs of a sample strategy: an expert buffer and room for its rows in a batch, or a
 * sufficient frequency of weight updates.
 */
import { expertCount } from '@trinity-rft/algorithm/internal';
import type {
  AlgorithmConfig,
  ExperienceBufferConfig,
  ExpertsConfig,
  SynchronizerConfig,
  TrainBatchConfig,
} from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import { trainStepsOf } from './train-batch-size.js';

const strategyKey: KeyPath = ['algorithm', 'sample_strategy'];
const typeKey: KeyPath = ['algorithm', 'algorithm_type'];
const argKey = (name: string): KeyPath => ['algorithm', 'sample_strategy_args', name];
const limitKey = argKey('max_staleness');

/** Warns of a strategy that has no effect, and checks the staleness limit. */
export function checkSampling(
  context: StageContext,
  { algorithmType, needsRollouts, sampleStrategy: { name, args } }: AlgorithmConfig,
  pace: Pace,
): void {
  if (context.input.mode === 'bench') return;
  if (!needsRollouts) {
    if (name !== 'default' && context.isSet(...strategyKey))
      context.ignore(
        strategyKey,
        `${algorithmType} reads the rows of its data set in the order of data_selector.`,
      );
    return;
  }
  const { maxStaleness: limit } = args;
  if (name === 'staleness_control' && context.mode === 'both' && typeof limit === 'number')
    checkStaleness(context, limit, pace);
}

interface ExpertNeeds {
  readonly trainBatchSize: number;
  /** The auxiliary buffers by name. */
  readonly buffers: Readonly<Record<string, ExperienceBufferConfig>>;
}

/**
 * Resolves the expert rows that are mixed into batches. Returns undefined if there are none, or if
 * they are invalid.
 */
export function deriveExperts(
  context: StageContext,
  { needsRollouts, sampleStrategy: { name, args } }: AlgorithmConfig,
  { trainBatchSize, buffers }: ExpertNeeds,
): ExpertsConfig | undefined {
  if (name !== 'mix' || !needsRollouts || context.mode === 'bench') return undefined;
  const buffer = findExperts(context, args['sftDatasetName'], buffers);
  const share = args['expertDataRatio'];
  const count = typeof share === 'number' ? expertCount(share, trainBatchSize) : 0;
  if (trainBatchSize > 0 && count >= trainBatchSize)
    context.report(
      setOne(context, argKey('expert_data_ratio')),
      `${String(share)} of a train_batch_size of ${trainBatchSize} leaves no room for experiences of the model. Lower it, or raise buffer.train_batch_size; to learn from experts only use algorithm_type: sft.`,
      [typeKey, ['buffer', 'train_batch_size']],
    );
  return buffer === undefined || count === 0 || !isReadable(buffer) ? undefined : { count, buffer };
}

function findExperts(
  context: StageContext,
  name: unknown,
  buffers: ExpertNeeds['buffers'],
): ExperienceBufferConfig | undefined {
  const wanted = typeof name === 'string' ? name : 'sft_dataset';
  if (Object.hasOwn(buffers, wanted)) return buffers[wanted];
  const names = Object.keys(buffers);
  const known =
    names.length === 0 ? 'and there are none' : `which is not among ${names.join(', ')}`;
  context.report(
    setOne(context, argKey('sft_dataset_name')),
    `the sample strategy mix takes experts from buffer.trainer_input.auxiliary_buffers, under "${wanted}", ${known}. Add it, with storage_type: file and a path; or name another one with sft_dataset_name.`,
    [typeKey, ['buffer', 'trainer_input', 'auxiliary_buffers']],
  );
  return undefined;
}

/**
 * Returns false for stored experiences without a database, which were reported when the buffer was
 * resolved.
 */
const isReadable = (buffer: ExperienceBufferConfig): buffer is ExpertsConfig['buffer'] =>
  buffer.storageType === 'file' || buffer.path !== undefined;

interface Pace {
  readonly synchronizer: SynchronizerConfig;
  readonly trainBatch: TrainBatchConfig;
}

/**
 * Checks the maximum number of train steps between sampling and training. Experiences become staler
 * with each train step between two weight updates. Reports a limit below the trainer's publishing
 * interval, because all experiences of the last steps before an update would be discarded, and
 * training would end; `max_staleness` avoids this, because it makes the trainer publish earlier.
 * Warns of a limit that discards only some experiences.
 */
function checkStaleness(
  context: StageContext,
  limit: number,
  { synchronizer, trainBatch }: Pace,
): void {
  const { syncStyle, trainerSyncInterval: interval, maxStaleness } = synchronizer;
  if (isTrainerDriven(syncStyle) && maxStaleness === undefined && limit < interval) {
    const key = intervalKey(context, 'trainer_sync_interval');
    context.report(
      limitKey,
      `got ${limit}, but with sync_style ${syncStyle} weights are published every ${interval} train steps (synchronizer.${key}), so all experiences would be discarded in between. Use at least ${interval}.`,
      [['synchronizer', key], strategyKey],
    );
    return;
  }
  const needed = stalenessOf(synchronizer, trainBatch);
  if (needed === undefined || limit >= needed) return;
  const { own, unit, perExploreStep } = trainBatch;
  const offset = syncStyle === 'fixed' ? ` + sync_offset ${synchronizer.syncOffset}` : '';
  const [key, count] = isTrainerDriven(syncStyle)
    ? [intervalKey(context, 'trainer_sync_interval'), interval]
    : [intervalKey(context, 'explorer_sync_interval'), synchronizer.explorerSyncInterval];
  const bound = maxStaleness === undefined ? '' : `, max_staleness ${maxStaleness}`;
  context.warn(
    limitKey,
    `got ${limit}, but experiences are trained on up to ${needed} train steps after they were sampled (sync_style ${syncStyle}, synchronizer.${key} ${count}${offset}${bound}; ${perExploreStep} ${unit} per explore step, ${own} per train step), so some of them are discarded (sample/stale_dropped). Use at least ${needed}.`,
  );
}

const isTrainerDriven = (style: SynchronizerConfig['syncStyle']): boolean =>
  style === 'trainer_driven' || style === 'fully_async';

/**
 * Returns the key that sets the sync interval of the explorer or of the trainer: `own` if the file
 * sets it, otherwise `sync_interval`.
 */
const intervalKey = (
  { input }: StageContext,
  own: 'explorer_sync_interval' | 'trainer_sync_interval',
): string => (input.synchronizer[own] === null ? 'sync_interval' : own);

/**
 * Returns the staleness, in train steps, that the intervals between weight updates cause. Returns
 * undefined if it depends on the number of model calls. In sync styles other than `fixed`,
 * experiences may be staler, because the explorer may be further ahead.
 */
function stalenessOf(
  { syncStyle, explorerSyncInterval, trainerSyncInterval, syncOffset, ...rest }: SynchronizerConfig,
  trainBatch: TrainBatchConfig,
): number | undefined {
  if (syncStyle === 'fixed') return trainStepsOf(trainBatch, explorerSyncInterval + syncOffset);
  const bound = (rest.maxStaleness ?? Infinity) + 1;
  const interval = syncStyle === 'fully_async' ? 1 : explorerSyncInterval;
  const taken = trainStepsOf(trainBatch, Math.min(interval, bound));
  if (taken === undefined || !isTrainerDriven(syncStyle)) return taken;
  return Math.max(taken, Math.min(trainerSyncInterval, trainStepsOf(trainBatch, bound) ?? 0));
}

function setOne(context: StageContext, arg: KeyPath): KeyPath {
  return [arg, strategyKey].find((path) => context.isSet(...path)) ?? typeKey;
}
