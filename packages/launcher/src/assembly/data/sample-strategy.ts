/** Sample strategies, which decide how the trainer takes experiences from the experience buffer. */
import { fileExperienceSource, mixedExperienceSource, storedRows } from '@trinity-rft/buffer';
import type { StageConfig } from '@trinity-rft/config';
import type { RawTask } from '@trinity-rft/core';
import type { ExperienceSource, TakeFilter } from '@trinity-rft/core/store';
import { pickRow } from '@trinity-rft/core/support';
import type { StageModel } from '../models/chat-format.js';
import { withPreview } from './sample-preview.js';
import { openRows, readSupervisedRows } from './supervised-data.js';
import type { Reading } from './tasks.js';

export interface Sampling {
  readonly source: ExperienceSource;
  /**
   * Returns the filter that selects the experiences of a train step. It also states the unit in
   * which a batch is counted.
   */
  readonly filter: (step: number) => TakeFilter;
  /** Closes everything except the experience buffer. */
  close(): Promise<void>;
}

type OpenStrategy = (
  stage: StageConfig,
  model: StageModel,
  experiences: ExperienceSource,
) => Promise<Sampling>;

const plain: OpenStrategy = async (stage, _model, experiences) => ({
  source: experiences,
  filter: () => batchOf(stage),
  close: () => Promise.resolve(),
});

/** Strategies by their names in `algorithm.sample_strategy`. */
const strategies: Readonly<Record<string, OpenStrategy>> = {
  default: plain,
  staleness_control: async (stage, model, experiences) => ({
    ...(await plain(stage, model, experiences)),
    filter: stalenessFilter(stage),
  }),
  mix: openMix,
};

/**
 * Opens the sample strategy that the configuration names.
 * @throws TaskError when a file with expert data cannot be used; BufferError when a store with
 * expert data cannot be opened
 */
export function openSampling(
  stage: StageConfig,
  model: StageModel,
  experiences: ExperienceSource,
): Promise<Sampling> {
  const { name } = stage.algorithm.sampleStrategy;
  return pickRow('sample strategy', strategies, name)(stage, model, experiences);
}

/**
 * Returns a filter that requires a policy version of at least max(step - max_staleness, 0). Weights
 * after train step s have version s, so a `max_staleness` of 1 allows only on-policy experiences.
 */
function stalenessFilter(stage: StageConfig): Sampling['filter'] {
  const limit = stage.algorithm.sampleStrategy.args['maxStaleness'];
  const batch = batchOf(stage);
  return typeof limit === 'number'
    ? (step) => ({ ...batch, minPolicyVersion: Math.max(step - limit, 0) })
    : () => batch;
}

/**
 * Returns the number of units (such as rollouts) that an explore step yields, if each batch ends at
 * the end of an explore step. Returns undefined with dynamic sampling, where a batch may end within
 * an explore step and the next batch takes the rest.
 */
const endingBatch = ({ buffer: { trainBatch } }: StageConfig): number | undefined =>
  trainBatch.takesRest ? undefined : trainBatch.perExploreStep;

/**
 * Returns the filter for a batch. If batches end with explore steps, limits the number of explore
 * steps per batch.
 */
function batchOf(stage: StageConfig): TakeFilter {
  const { own, unit } = stage.buffer.trainBatch;
  const perExploreStep = endingBatch(stage);
  return {
    unit,
    maxExploreSteps: perExploreStep === undefined ? undefined : Math.ceil(own / perExploreStep),
  };
}

/**
 * Returns the size of a train batch, including expert rows. Returns Infinity if a batch consists of
 * whole explore steps, whose number the filter limits.
 */
export function batchCount(stage: StageConfig): number {
  const { size, own } = stage.buffer.trainBatch;
  const perExploreStep = endingBatch(stage);
  return perExploreStep !== undefined && own % perExploreStep === 0 ? Infinity : size;
}

async function openMix(
  stage: StageConfig,
  model: StageModel,
  experiences: ExperienceSource,
): Promise<Sampling> {
  const { experts: config } = stage.buffer.trainerInput;
  if (config === undefined) return plain(stage, model, experiences);
  const { count, buffer } = config;
  const { close, ...data } =
    buffer.storageType === 'file'
      ? { ...(await openRows(model, buffer, 'sft')), close: () => undefined }
      : storedRows(buffer.path);
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
    source: stage.mode === 'train' ? mixture : withPreview(mixture, stage, model),
    filter: () => batchOf(stage),
    close: async () => {
      await experts.close();
      close();
    },
  };
}

/**
 * Reads and checks the expert data of a stage. Returns undefined if the stage reads no expert data
 * from files.
 * @throws TaskError if the data cannot be used
 */
export async function checkExperts(
  { buffer }: StageConfig,
  reading: Reading,
): Promise<readonly RawTask[] | undefined> {
  const { experts } = buffer.trainerInput;
  return experts?.buffer.storageType === 'file'
    ? readSupervisedRows(experts.buffer, 'sft', reading)
    : undefined;
}
