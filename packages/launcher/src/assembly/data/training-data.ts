/** Opens the data of mode `train`: rows of a file, or experiences that are already stored. */
import { fileExperienceSource } from '@trinity-rft/buffer';
import { hasHadWriter } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import { ConfigError, type RawTask } from '@trinity-rft/core';
import { openTogether } from '@trinity-rft/core/support';
import type { Extensions } from '../../context/stage-context.js';
import type { StageModel } from '../models/chat-format.js';
import { openExperienceStore } from './experience-store.js';
import { withPreview } from './sample-preview.js';
import { openSampling, type Sampling } from './sample-strategy.js';
import { ownDatabase } from './stored-experiences.js';
import { openRows, readSupervisedRows } from './supervised-data.js';
import type { Reading } from './tasks.js';

export interface TrainingData
  extends Pick<Sampling, 'source' | 'close'>, Partial<Pick<Sampling, 'filter'>> {
  /** Number of train steps until the data is consumed, if known. */
  readonly totalSteps: number | undefined;
  /**
   * True if a server has added experiences to the store, and may add more while the trainer reads
   * it.
   */
  readonly mayGrow: boolean;
}

interface StoredOptions extends Pick<Extensions, 'openRows'> {
  /** True if an earlier process has started the steps of the stage. */
  readonly hasBegun: boolean;
}

/**
 * Opens the training data of a stage. If the rows are preference pairs, `train_batch_size` counts
 * pairs. Both responses of a pair are in the same batch, with the chosen response first.
 */
export async function openTrainingData(
  stage: StageConfig,
  model: StageModel,
  options: StoredOptions,
): Promise<TrainingData> {
  const { buffer, seed, algorithm } = stage;
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType !== 'file') return openStored(stage, model, options);
  if (algorithm.schema === 'experience') {
    throw new ConfigError(
      `${algorithm.algorithmType} learns from experiences; its experience_buffer is the file ${config.path}.`,
      { code: 'BUFFER_KIND' },
    );
  }
  const { name } = config;
  const data = await openRows(model, config, algorithm.schema);
  const totalSteps =
    buffer.totalSteps ??
    Math.floor((buffer.totalEpochs * data.rows.length) / buffer.trainBatchSize);
  const source = fileExperienceSource({
    name,
    ...data,
    selectorType: config.dataSelector.selectorType,
    seed: config.dataSelector.seed ?? seed,
    batchSize: buffer.trainBatchSize,
    totalRows: totalSteps * buffer.trainBatchSize,
  });
  return {
    source: withPreview(source, stage, model),
    totalSteps,
    mayGrow: false,
    close: () => source.close(),
  };
}

/**
 * Reads and checks the supervised data of a stage. Returns undefined if the trainer does not read
 * supervised data.
 * @param model model whose context length limits the rows; undefined to check only the columns
 * @throws TaskError if the rows cannot be used
 */
export async function checkTrainingData(
  { algorithm, buffer }: StageConfig,
  reading: Reading,
  model: Pick<StageModel, 'startModel' | 'format'> | undefined,
): Promise<readonly RawTask[] | undefined> {
  const { experienceBuffer } = buffer.trainerInput;
  if (experienceBuffer.storageType !== 'file' || algorithm.schema === 'experience')
    return undefined;
  if (model === undefined) return readSupervisedRows(experienceBuffer, algorithm.schema, reading);
  return (await openRows({ ...reading, ...model }, experienceBuffer, algorithm.schema)).rows;
}

/**
 * Opens the experiences of an earlier training run, or the experiences that a running server adds.
 */
async function openStored(
  stage: StageConfig,
  model: StageModel,
  { openRows: openStore, hasBegun }: StoredOptions,
): Promise<TrainingData> {
  const { runtime } = model;
  const { experienceBuffer } = stage.buffer.trainerInput;
  const { path: given } = experienceBuffer;
  const path =
    given === undefined ? undefined : await ownDatabase(given, stage.jobDirectory, hasBegun);
  const followWriter = {
    clock: runtime.clock,
    graceMs:
      experienceBuffer.storageType === 'file' ? undefined : experienceBuffer.maxReadTimeoutMs,
    onGone: () =>
      runtime.logger.info(
        'The server that adds experiences has been away for max_read_timeout seconds, so training ends here. The same command goes on when the server is back.',
      ),
  };
  const options = { openRows: openStore, path, followWriter };
  return openTogether(async (stack) => {
    const store = stack.use(await openExperienceStore(stage, runtime, options));
    const sampling = stack.use(await openSampling(stage, model, store));
    return {
      ...sampling,
      source: withPreview(sampling.source, stage, model),
      totalSteps: stage.buffer.totalSteps,
      mayGrow: path !== undefined && hasHadWriter(path),
      close: () => stack.close(),
    };
  });
}
