/** Compares the model that adapters were trained on with the model that they are used with. */
import { join } from 'node:path';

import { CheckpointError } from '@trinity-rft/core';
import type { Quantization } from '@trinity-rft/core/engine';

import { baseFile, readBaseRecord, type BaseRecord } from '../storage/base-record.js';
import type { FrozenWeights } from './frozen-weights.js';

/** Identity of a model that adapters are added to. */
export interface BaseModel {
  /** Quantization of the weights. @default undefined: the weights are floating-point numbers */
  readonly quantization?: Quantization | undefined;
  /** Returns the SHA-256 of the weights. */
  readonly digest: () => Promise<string>;
}

/** The frozen model of a training run. */
export interface FrozenModel extends BaseModel {
  /**
   * Weights of the model; undefined if they are quantised, because adapters are not merged into
   * quantised weights.
   */
  readonly weights: FrozenWeights | undefined;
}

/**
 * Checks that a checkpoint's adapters were trained on the model `base`. The folder must contain a
 * record of the model that they were trained on.
 * @param folder the folder of the adapters
 * @throws CheckpointError when the adapters were trained on another model
 */
export async function assertBase(folder: string, base: BaseModel): Promise<void> {
  await compare(folder, (await readBaseRecord(folder)) ?? {}, base);
}

/** Does the same as {@link assertBase}, but accepts adapters without a record, such as PEFT's. */
export async function assertRecordedBase(folder: string, base: BaseModel): Promise<void> {
  const record = await readBaseRecord(folder);
  const file = join(folder, baseFile);
  const fix = `Name that model, or remove ${file} to use the adapter on this one all the same.`;
  if (record) await compare(folder, record, base, fix);
}

async function compare(
  folder: string,
  record: BaseRecord,
  { quantization, digest }: BaseModel,
  fix = 'Start with the same model.',
): Promise<void> {
  if (record.quantization !== quantization)
    throw otherAdapters(
      `The adapters of ${folder} were trained with model.quantization: ${record.quantization ?? 'none'}, and this run has ${quantization ?? 'none'}. Set the former, or start a new run.`,
    );
  if (record.sha256 === (await digest())) return;
  throw otherAdapters(
    `${folder} belongs to another model: the weights that its adapters were trained on differ ` +
      `(${join(folder, baseFile)}). ${fix}`,
  );
}

/**
 * Checks that the adapters in a folder were not trained on quantised weights.
 * @throws CheckpointError when they were
 */
export async function refuseQuantized(folder: string): Promise<void> {
  const { quantization } = (await readBaseRecord(folder)) ?? {};
  if (quantization === undefined) return;
  throw new CheckpointError(
    `${folder} holds an adapter that was trained beside quantised weights (model.quantization: ${quantization}), ` +
      'so it has no weights to be merged with. Sample from its checkpoint itself, export the adapter alone ' +
      '(`trinity export FOLDER --to gguf --adapter-only`), or a GGUF file with it merged in, whose weights are ' +
      'rounded again (`trinity export FOLDER --to gguf`).',
    { code: 'ADAPTER_BESIDE_QUANTIZED', details: { directory: folder } },
  );
}

export function otherAdapters(message: string): CheckpointError {
  return new CheckpointError(message, { code: 'CHECKPOINT_OTHER_ADAPTERS' });
}
