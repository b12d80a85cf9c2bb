/** What mode `train` reads: supervised rows of a file, or experiences that are stored already. */
import { fileExperienceSource, readSupervisedRow, readTaskRows } from '@trinity-rft/buffer';
import { encodeConversation, type ChatFormat } from '@trinity-rft/chat';
import type { SupervisedBufferConfig } from '@trinity-rft/config';
import { createExperience, describeError, TaskError, type Experience, type ExperienceSource, type RawTask } from '@trinity-rft/core';
import type { StageContext } from '../context.js';
import { openExperienceStore } from './experience-store.js';
import { ownDatabase } from './stored-experiences.js';

export interface TrainingData {
  readonly source: ExperienceSource;
  /** Train steps until the data ends, when that is known. */
  readonly totalSteps: number | undefined;
}

export async function openTrainingData(context: StageContext, format: ChatFormat): Promise<TrainingData> {
  const { stage, signal } = context;
  const { buffer, seed } = stage;
  const config = buffer.trainerInput.experienceBuffer;
  if (config.storageType !== 'file') return openStored(context);
  const { name } = config;
  const rows = await readSupervisedRows(config, signal);
  const totalSteps = buffer.totalSteps ?? Math.floor((buffer.totalEpochs * rows.length) / buffer.trainBatchSize);
  const source = fileExperienceSource({
    name,
    rows,
    toExperience: (rawTask, row) => supervisedExperience(format, config, rawTask, row),
    selector: config.dataSelector.selectorType,
    seed: config.dataSelector.seed ?? seed,
    batchSize: buffer.trainBatchSize,
    totalRows: totalSteps * buffer.trainBatchSize,
  });
  return { source, totalSteps };
}

/** @throws TaskError when the data cannot be read */
export function readSupervisedRows(
  { name, path, split, subsetName }: SupervisedBufferConfig,
  signal: AbortSignal,
): Promise<readonly RawTask[]> {
  return readTaskRows({ name, path, split, signal, ...(subsetName !== undefined && { subsetName }) });
}

/** Experiences of an earlier run, or of a server in another process, until that has ended. */
async function openStored({ stage, runtime }: StageContext): Promise<TrainingData> {
  const { path } = stage.buffer.trainerInput.experienceBuffer;
  const own = path === undefined ? {} : { path: await ownDatabase(path, stage.jobDirectory) };
  const store = openExperienceStore(stage, { ...own, followWriter: { clock: runtime.clock } });
  return { source: store, totalSteps: stage.buffer.totalSteps };
}

function supervisedExperience(format: ChatFormat, config: SupervisedBufferConfig, rawTask: RawTask, row: number): Experience {
  const { messages, tools } = readSupervisedRow(rawTask, config.format, `${row} of "${config.name}"`);
  try {
    const encoded = encodeConversation(format, {
      messages,
      trainOn: config.format.enableConcatenatedMultiTurn ? 'all' : 'last',
      ...(tools && { tools }),
      ...(config.format.enableThinking !== undefined && { enableThinking: config.format.enableThinking }),
    });
    return createExperience({ ...encoded, eid: { batch: config.name, task: row } });
  } catch (cause) {
    throw new TaskError(`Row ${row} of "${config.name}" (${config.path}) cannot be learned from: ${describeError(cause)}`, {
      code: 'SUPERVISED_ROW',
      cause,
    });
  }
}
