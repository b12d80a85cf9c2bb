/**
 * Checks the needs of a sample strategy: an expert buffer and room for its rows in a batch, or a
 * sufficient frequency of weight updates.
 */
import { expertCount } from '@trinity-rft/algorithm/internal';
import type { AlgorithmConfig, ExperienceBufferConfig, ExpertsConfig } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';

const strategyKey: KeyPath = ['algorithm', 'sample_strategy'];
const typeKey: KeyPath = ['algorithm', 'algorithm_type'];
const argKey = (name: string): KeyPath => ['algorithm', 'sample_strategy_args', name];

/** Warns of a strategy that has no effect, and checks the staleness limit. */
export function checkSampling(
  context: StageContext,
  { algorithmType, needsRollouts, sampleStrategy: { name, args } }: AlgorithmConfig,
): void {
  if (context.input.mode === 'bench') return;
  if (!needsRollouts) {
    if (name !== 'default')
      context.warn(
        strategyKey,
        `ignored. ${algorithmType} reads the rows of its data set in the order of data_selector.`,
      );
    return;
  }
  if (name === 'staleness_control') checkStaleness(context, args['maxStaleness']);
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

/** Styles in which only the trainer's interval decides when weights are published. */
const trainerStyles: readonly string[] = ['trainer_driven', 'fully_async'];

/**
 * Reports a limit that is too low for the train steps between two weight updates. In each of these
 * steps, the experiences are staler than in the previous step. Where the trainer decides, it makes
 * no further step without newer weights, unless `synchronizer.max_staleness` makes it publish.
 */
function checkStaleness(context: StageContext, limit: unknown): void {
  const { synchronizer } = context.input;
  const { sync_style: style, sync_offset: offset, max_staleness: bound } = synchronizer;
  const isFixed = style === 'fixed';
  if (context.mode !== 'both' || typeof limit !== 'number') return;
  if (!isFixed && !trainerStyles.includes(style)) return;
  const own = isFixed ? 'explorer_sync_interval' : 'trainer_sync_interval';
  const key = synchronizer[own] === null ? 'sync_interval' : own;
  const interval = synchronizer[own] ?? synchronizer.sync_interval;
  const needed = isFixed ? interval + offset : Math.min(interval, (bound ?? Infinity) + 1);
  if (limit >= needed) return;
  const reason = isFixed
    ? `experiences are trained on up to ${needed} train steps after they were sampled (synchronizer.${key} ${interval} + sync_offset ${offset}), so some of each interval would be discarded`
    : `weights are published every ${interval} train steps (synchronizer.${key}), so all experiences would be discarded in between`;
  context.report(
    argKey('max_staleness'),
    `got ${limit}, but with sync_style ${style} ${reason}. Use at least ${needed}.`,
    [['synchronizer', key], strategyKey],
  );
}

function setOne(context: StageContext, arg: KeyPath): KeyPath {
  return [arg, strategyKey].find((path) => context.isSet(...path)) ?? typeKey;
}
