/** Adapters as archives: what a client downloads of saved weights. */
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { readManifest, verifyFolder } from '@trinity-rft/core/engine';
import { create } from 'tar';
import { Refusal } from '../refusals/refusal.js';
import type { Checkpoint } from './checkpoints.js';

/** Where engines leave an adapter, as PEFT writes it. */
const adapterFolder = 'lora_adapter';
/** The official client looks for it. */
const completeFile = 'checkpoint_complete';
const files = ['adapter_config.json', 'adapter_model.safetensors', completeFile];

/** Notes that the adapter of a checkpoint is whole. Engines of other kinds may leave none. */
export async function completeAdapter(directory: string): Promise<void> {
  const folder = path.join(directory, adapterFolder);
  if (await isThere(folder)) await writeFile(path.join(folder, completeFile), '');
}

const isThere = async (place: string): Promise<boolean> =>
  (await stat(place).catch(() => undefined)) !== undefined;

/** @throws Refusal 404 where all weights were trained; CheckpointError where a file has been changed */
export async function assertAdapter({ directory, uri }: Checkpoint): Promise<void> {
  const manifest = await readManifest(directory);
  if (manifest) await verifyFolder(directory, manifest);
  if (await isThere(path.join(directory, adapterFolder, completeFile))) return;
  throw new Refusal(
    404,
    `${uri} has no adapter, because all weights were trained. They lie on the machine of the server, below the folder that it says at its start.`,
  );
}

/** A gzipped tar of the folder's files. */
export const archiveOf = ({ directory }: Checkpoint): ReadableStream =>
  Readable.toWeb(
    Readable.from(
      create({ cwd: path.join(directory, adapterFolder), gzip: true, portable: true }, files),
    ),
  ) as ReadableStream;
