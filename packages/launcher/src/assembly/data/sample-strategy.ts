/** The sample strategies: how the trainer takes experiences from the experience buffer. */
import { fileExperienceSource, mixedExperienceSource, storedRows } from '@trinity-rft/buffer';
import type { ChatFormat } from '@trinity-rft/chat';
import type { ExpertsConfig, StageConfig } from '@trinity-rft/config';
import type { RawTask } from '@trinity-rft/core';
import type { ExperienceSource, TakeFilter } from '@trinity-rft/core/store';
import { pickRow } from '@trinity-rft/core/support';
import type { StageContext } from '../../context/stage-context.js';
import { withPreview } from './sample-preview.js';
import { openRows, readSupervisedRows } from './supervised-data.js';

export interface Sampling {
  readonly source: ExperienceSource;
  /** Experiences that a train step may use, and how they are counted. */
  readonly filter: (step: number) => TakeFilter;
  /** Closes everything except the experience buffer. */
  close(): Promise<void>;
}

interface StrategyInput {
  readonly context: StageContext;
  readonly format: ChatFormat;
  /** The experience buffer. */
  readonly experiences: ExperienceSource;
}

type OpenStrategy = (input: StrategyInput) => Sampling | Promise<Sampling>;

const plain: OpenStrategy = ({ context, experiences }) => ({
  source: experiences,
  filter: () => batchOf(context.stage),
  close: () => Promise.resolve(),
});

/** Strategies by their names in `algorithm.sample_strategy`. */
const strategies: Readonly<Record<string, OpenStrategy>> = {
  default: plain,
  warmup: plain,
  staleness_control: async (input) => ({
    ...(await plain(input)),
    filter: stalenessFilter(input.context.stage),
  }),
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
 * Policy version >= max(step - max_staleness, 0). Weights after step s have version s, so a limit
 * of 1 allows only on-policy experiences.
 */
function stalenessFilter(stage: StageConfig): Sampling['filter'] {
  const limit = stage.algorithm.sampleStrategy.args['maxStaleness'];
  const batch = batchOf(stage);
  return typeof limit === 'number'
    ? (step) => ({ ...batch, minPolicyVersion: Math.max(step - limit, 0) })
    : () => batch;
}

/**
 * Members that an explore step makes, if a batch ends with it. With dynamic sampling all batches are
 * full: what an explore step made beyond one belongs to the next.
 */
const endingBatch = ({ buffer: { trainBatch }, explorer }: StageConfig): number | undefined =>
  explorer.dynamicSampling.enable ? undefined : trainBatch.perExploreStep;

/** A batch of runs or tasks ends with its explore step, or with the last one that it reaches. */
function batchOf(stage: StageConfig): TakeFilter {
  const { own, unit } = stage.buffer.trainBatch;
  const perExploreStep = endingBatch(stage);
  return {
    unit,
    maxExploreSteps: perExploreStep === undefined ? undefined : Math.ceil(own / perExploreStep),
  };
}

/** Members of a train step, experts included; unlimited if it takes whole explore steps. */
export function batchCount(stage: StageConfig): number {
  const { size, own } = stage.buffer.trainBatch;
  const perExploreStep = endingBatch(stage);
  return perExploreStep !== undefined && own % perExploreStep === 0 ? Infinity : size;
}

async function openMix(input: StrategyInput): Promise<Sampling> {
  const { context, format, experiences } = input;
  const { stage } = context;
  const { experts: config } = stage.buffer.trainerInput;
  if (config === undefined) return plain(input);
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
    filter: () => batchOf(stage),
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
export async function checkExperts(
  { buffer }: StageConfig,
  signal: AbortSignal,
): Promise<readonly RawTask[] | undefined> {
  const { experts } = buffer.trainerInput;
  return experts?.buffer.storageType === 'file'
    ? readSupervisedRows(experts.buffer, 'sft', signal)
    : undefined;
}
