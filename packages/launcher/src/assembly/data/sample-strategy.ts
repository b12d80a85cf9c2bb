/**
 * How the trainer of a stage takes experiences: the sample strategies of the algorithm, over the
 * stage's experience buffer.
 */
import { fileExperienceSource, mixedExperienceSource, storedRows } from '@trinity-rft/buffer';
import type { ChatFormat } from '@trinity-rft/chat';
import type { ExpertsConfig, StageConfig } from '@trinity-rft/config';
import { pickRow, type ExperienceSource, type TakeFilter } from '@trinity-rft/core';
import type { StageContext } from '../../context/stage-context.js';
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

/** @throws TaskError, BufferError when an expert buffer cannot be used */
export async function openSampling(
  context: StageContext,
  format: ChatFormat,
  experiences: ExperienceSource,
): Promise<Sampling> {
  return pickRow(
    'sample strategy',
    strategies,
    context.stage.algorithm.sampleStrategy.name,
  )({ context, format, experiences });
}

/**
 * Those of policy version >= max(step - max_staleness, 0): weights after step s have version s, so
 * a limit of 1 takes on-policy experiences only.
 */
function stalenessFilter({ algorithm }: StageConfig): Sampling['filter'] {
  const limit = algorithm.sampleStrategy.args['maxStaleness'];
  return typeof limit === 'number'
    ? (step) => ({ minPolicyVersion: Math.max(step - limit, 0) })
    : undefined;
}

async function openMix(given: Given): Promise<Sampling> {
  const { context, format, experiences } = given;
  const { stage } = context;
  const { experts: config } = stage.buffer.trainerInput;
  if (config === undefined) return plain(given);
  const { count, buffer } = config;
  const { close, ...data } = await openExperts(context, buffer, format);
  const selector = buffer.storageType === 'file' ? buffer.dataSelector : undefined;
  const experts = fileExperienceSource({
    ...data,
    name: buffer.name,
    selectorType: selector?.selectorType,
    seed: selector?.seed ?? stage.seed,
    batchSize: count,
    totalRows: Infinity,
  });
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

async function openExperts(
  context: StageContext,
  buffer: ExpertsConfig['buffer'],
  format: ChatFormat,
) {
  if (buffer.storageType !== 'file') return storedRows(buffer.path);
  return { ...(await openRows(context, format, buffer, 'sft')), close: () => undefined };
}

/** Reads the expert data of a stage. @throws TaskError when it cannot be used */
export async function checkExperts({ buffer }: StageConfig, signal: AbortSignal): Promise<void> {
  const { experts } = buffer.trainerInput;
  if (experts?.buffer.storageType === 'file')
    await readSupervisedRows(experts.buffer, 'sft', signal);
}
