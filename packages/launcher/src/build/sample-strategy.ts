/** How the trainer of a stage takes experiences: the sample strategies of the algorithm, over the stage's experience buffer. */
import { expertCount } from '@trinity-rft/algorithm';
import { fileExperienceSource, mixedExperienceSource, storedRows } from '@trinity-rft/buffer';
import type { ChatFormat } from '@trinity-rft/chat';
import type { ExperienceBufferConfig, StageConfig } from '@trinity-rft/config';
import { ConfigError, pickRow, type ExperienceSource, type TakeFilter } from '@trinity-rft/core';
import type { StageContext } from '../context.js';
import { withPreview } from './sample-preview.js';
import { openRows, readSupervisedRows } from './supervised-data.js';

export interface Sampling {
  readonly source: ExperienceSource;
  /** Which experiences a train step may read. @default all */
  readonly filter?: (step: number) => TakeFilter;
  /** How many of a batch come from the experience buffer. */
  readonly fromBuffer: number;
  /** Closes what it has opened; the experience buffer stays. */
  close(): Promise<void>;
}

interface Given {
  readonly context: StageContext;
  readonly format: ChatFormat;
  /** The experience buffer. */
  readonly experiences: ExperienceSource;
}

type Open = (given: Given) => Sampling | Promise<Sampling>;

const plain: Open = ({ context, experiences }) => ({
  source: experiences,
  fromBuffer: context.stage.buffer.trainBatchSize,
  close: () => Promise.resolve(),
});

/** By the names of YAML's `sample_strategy`. */
const strategies: Readonly<Record<string, Open>> = {
  default: plain,
  warmup: plain,
  staleness_control: async (given) => {
    const filter = stalenessFilter(given.context.stage);
    return { ...(await plain(given)), ...(filter && { filter }) };
  },
  mix: openMix,
};

/** @throws ConfigError, TaskError, BufferError when an expert buffer cannot be used */
export async function openSampling(context: StageContext, format: ChatFormat, experiences: ExperienceSource): Promise<Sampling> {
  return pickRow('sample strategy', strategies, context.stage.algorithm.sampleStrategy.name)({ context, format, experiences });
}

/**
 * Those of policy version >= max(step - max_staleness, 0): weights after step s have version s, so a limit of 1 takes on-policy
 * experiences only.
 */
function stalenessFilter({ algorithm }: StageConfig): Sampling['filter'] {
  const limit = algorithm.sampleStrategy.args['maxStaleness'];
  return typeof limit === 'number' ? (step) => ({ minPolicyVersion: Math.max(step - limit, 0) }) : undefined;
}

/** Experts to mix in, by the arguments of the strategy. @throws ConfigError when there is no such buffer, or nothing is left for experiences */
function mixOf({ algorithm, buffer }: StageConfig): { readonly count: number; readonly config: ExperienceBufferConfig } {
  const { expertDataRatio = 0.5, sftDatasetName = 'sft_dataset' } = algorithm.sampleStrategy.args as MixArgs;
  const { auxiliaryBuffers } = buffer.trainerInput;
  const config = Object.hasOwn(auxiliaryBuffers, sftDatasetName) ? auxiliaryBuffers[sftDatasetName] : undefined;
  if (!config) {
    const known = Object.keys(auxiliaryBuffers).join(', ') || 'none';
    throw new ConfigError(
      `algorithm.sample_strategy mix takes experts from the auxiliary buffer "${sftDatasetName}", and there is none. There are: ${known}. Add it to buffer.trainer_input.auxiliary_buffers, or name another one with sample_strategy_args.sft_dataset_name.`,
      { code: 'MIX_BUFFER' },
    );
  }
  const count = expertCount(expertDataRatio, buffer.trainBatchSize);
  if (count >= buffer.trainBatchSize) {
    throw new ConfigError(
      `algorithm.sample_strategy_args.expert_data_ratio ${expertDataRatio} of buffer.train_batch_size ${buffer.trainBatchSize} leaves nothing for experiences of the model. Lower the one or raise the other; to train on experts only use algorithm_type: sft.`,
      { code: 'MIX_COUNT' },
    );
  }
  return { count, config };
}

interface MixArgs {
  readonly expertDataRatio?: number;
  readonly sftDatasetName?: string;
}

async function openMix(given: Given): Promise<Sampling> {
  const { context, format, experiences } = given;
  const { stage } = context;
  const { count, config } = mixOf(stage);
  if (count === 0) return plain(given);
  const { close, ...data } = await openExperts(context, config, format);
  const selector = config.storageType === 'file' ? config.dataSelector.selectorType : 'sequential';
  const seed = (config.storageType === 'file' ? config.dataSelector.seed : undefined) ?? stage.seed;
  const experts = fileExperienceSource({ ...data, name: config.name, selector, seed, batchSize: count, totalRows: Infinity });
  const mixture = mixedExperienceSource({ experiences, experts, expertCount: count });
  return {
    source: stage.mode === 'train' ? mixture : withPreview(mixture, context, format),
    fromBuffer: stage.buffer.trainBatchSize - count,
    close: async () => {
      await experts.close();
      close();
    },
  };
}

async function openExperts(context: StageContext, config: ExperienceBufferConfig, format: ChatFormat) {
  if (config.storageType === 'file') {
    return { ...(await openRows(context, format, config, 'sft')), close: () => undefined };
  }
  if (config.path !== undefined) return storedRows(config.path);
  throw new ConfigError(`The auxiliary buffer "${config.name}" is in memory, where nothing has stored anything. Give it a path.`, {
    code: 'MIX_BUFFER',
  });
}

/** Reads the expert data of a stage. @throws ConfigError, TaskError when it cannot be used */
export async function checkExperts(stage: StageConfig, signal: AbortSignal): Promise<void> {
  if (stage.algorithm.sampleStrategy.name !== 'mix') return;
  const { config } = mixOf(stage);
  if (config.storageType === 'file') await readSupervisedRows(config, 'sft', signal);
}
