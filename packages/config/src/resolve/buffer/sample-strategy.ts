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

/**
 * Reports a limit below the sync interval. Between two weight updates, the trainer makes several
 * steps on experiences of one version. In each of these steps, the experiences are staler than in
 * the previous step.
 */
function checkStaleness(context: StageContext, limit: unknown): void {
  const { synchronizer } = context.input;
  const fixed = context.mode === 'both' && synchronizer.sync_style === 'fixed';
  const key =
    synchronizer.explorer_sync_interval === null ? 'sync_interval' : 'explorer_sync_interval';
  const interval = synchronizer.explorer_sync_interval ?? synchronizer.sync_interval;
  if (!fixed || typeof limit !== 'number' || limit >= interval) return;
  context.report(
    argKey('max_staleness'),
    `got ${limit}, but weights are published every ${interval} train steps (synchronizer.${key}), so the last of them would wait forever for fresher experiences. Use at least ${interval}.`,
    [['synchronizer', key], strategyKey],
  );
}

function setOne(context: StageContext, arg: KeyPath): KeyPath {
  return [arg, strategyKey].find((path) => context.isSet(...path)) ?? typeKey;
}
