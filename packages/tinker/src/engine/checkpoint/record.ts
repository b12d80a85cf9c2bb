/**
 * Reads and writes `tinker.json` in checkpoint folders, which contains the Tinker paths of the
 * weights on the server.
 */
import path from 'node:path';
import { CheckpointError } from '@trinity-rft/core';
import { readStored } from '@trinity-rft/core/engine';
import { replaceFile, tryJson } from '@trinity-rft/core/support';
import { z } from 'zod';

const file = 'tinker.json';

const schema = z.object({
  version: z.literal(1),
  base_model: z.string(),
  lora_rank: z.number().int(),
  /** Tinker path of the weights and the optimizer moments. */
  weights: z.string().startsWith('tinker://'),
  /** Tinker path of the adapter, which samplers load. */
  sampler: z.string().startsWith('tinker://'),
  /** Number of optimizer steps so far. */
  step: z.number().int().min(0),
  /** True if loading the checkpoint restores the optimizer moments. */
  optimizer: z.boolean(),
});

export type CheckpointRecord = z.output<typeof schema>;

export async function writeRecord(directory: string, record: CheckpointRecord): Promise<void> {
  await replaceFile(path.join(directory, file), `${JSON.stringify(record, null, 2)}\n`);
}

/**
 * Reads a checkpoint folder's record. Returns undefined if the folder is not a checkpoint of this
 * engine.
 * @throws CheckpointError if the record is damaged
 */
export async function findRecord(directory: string): Promise<CheckpointRecord | undefined> {
  const target = path.join(directory, file);
  const text = await readStored(target);
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(tryJson(String(text)));
  if (parsed.success) return parsed.data;
  throw new CheckpointError(
    `${target} is damaged: ${parsed.error.issues[0]?.message ?? 'it cannot be read'}. Delete the checkpoint to continue from the one before it.`,
    { code: 'CHECKPOINT_DAMAGED' },
  );
}

/**
 * Reads a checkpoint folder's record.
 * @throws CheckpointError if the folder is not a checkpoint of this engine, or its record is
 * damaged
 */
export async function readRecord(directory: string): Promise<CheckpointRecord> {
  const record = await findRecord(directory);
  if (record !== undefined) return record;
  throw new CheckpointError(
    `${directory} has no ${file}, so nothing says where its weights lie on the Tinker server. Checkpoints of other engines cannot be sent there; use one that this engine wrote.`,
    { code: 'CHECKPOINT_FOREIGN' },
  );
}
