/** Packs the adapter in saved weights for download. */
import { stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { readManifest, verifyFolder } from '@trinity-rft/core/engine';
import { create } from 'tar';
import { Refusal } from '../refusals/refusal.js';
import type { Checkpoint } from './checkpoints.js';

/** Name of the folder in a checkpoint that contains the adapter in PEFT's format. */
const adapterFolder = 'lora_adapter';
/** Name of the marker file that the official client expects in an archive. */
const completeFile = 'checkpoint_complete';
const files = ['adapter_config.json', 'adapter_model.safetensors', completeFile];

/**
 * Adds the marker file to the adapter of a checkpoint. Does nothing if the engine wrote no adapter.
 */
export async function completeAdapter(directory: string): Promise<void> {
  const folder = path.join(directory, adapterFolder);
  if (await isThere(folder)) await writeFile(path.join(folder, completeFile), '');
}

const isThere = async (place: string): Promise<boolean> =>
  (await stat(place).catch(() => undefined)) !== undefined;

/**
 * Checks that the adapter exists and its files are unchanged.
 * @throws Refusal 404 if there is no adapter, for example after training without LoRA, and
 * CheckpointError if a file has changed
 */
export async function assertAdapter({ directory, uri }: Checkpoint): Promise<void> {
  const manifest = await readManifest(directory);
  if (manifest) await verifyFolder(directory, manifest);
  if (await isThere(path.join(directory, adapterFolder, completeFile))) return;
  throw new Refusal(
    404,
    `${uri} has no adapter, because all weights were trained. They lie on the machine of the server, below the folder that it says at its start.`,
  );
}

/** Creates a gzipped tar of the adapter's files. */
export const archiveOf = ({ directory }: Checkpoint): ReadableStream =>
  Readable.toWeb(
    Readable.from(
      create({ cwd: path.join(directory, adapterFolder), gzip: true, portable: true }, files),
    ),
  ) as ReadableStream;
