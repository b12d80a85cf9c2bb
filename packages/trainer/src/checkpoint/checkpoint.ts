/**
 * Checkpoint folders: filled under a temporary name, then renamed; complete exactly when their
 * manifest is there.
 */
import { createHash, hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeError } from '@trinity-rft/core';
import { boundary, CheckpointError } from '@trinity-rft/core/internal';

const manifestFile = 'manifest.json';
/** Name of the newest complete checkpoint, as Trinity-RFT writes it. */
const latestFile = 'latest_checkpointed_iteration.txt';
const folderPattern = /^global_step_(\d+)$/;

export interface CheckpointFile {
  /** Relative to the checkpoint, with forward slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface CheckpointManifest {
  readonly version: 1;
  readonly step: number;
  /** The last checkpoint of a finished stage. */
  readonly final: boolean;
  readonly files: readonly CheckpointFile[];
  /** Of the fields above. Undefined: written by a version that did not digest its manifests. */
  readonly sha256?: string;
}

export interface Checkpoint {
  readonly directory: string;
  readonly manifest: CheckpointManifest;
}

const checkpointName = (step: number): string => `global_step_${step}`;

export interface WriteCheckpointOptions {
  readonly step: number;
  readonly final: boolean;
  readonly fill: (directory: string) => Promise<void>;
}

/**
 * Fills a folder with `fill`, then makes it `global_step_<step>` of `root`, which exists, in one
 * rename. An existing checkpoint of that step is replaced.
 * @throws CheckpointError naming the folder when it cannot be written
 */
export function writeCheckpoint(
  root: string,
  options: WriteCheckpointOptions,
): Promise<Checkpoint> {
  const failed = (cause: unknown): CheckpointError =>
    new CheckpointError(
      `Checkpoint ${path.join(root, checkpointName(options.step))} could not be written: ${describeError(cause)}. Check that the folder is writable and the disk has room; a new start of the run continues from the checkpoint before.`,
      { code: 'CHECKPOINT_WRITE', cause },
    );
  return boundary(failed, () => fillAndRename(root, options));
}

async function fillAndRename(root: string, options: WriteCheckpointOptions): Promise<Checkpoint> {
  const { step, final, fill } = options;
  const directory = path.join(root, checkpointName(step));
  const temporary = `${directory}.tmp`;
  await rm(temporary, { recursive: true, force: true });
  // Not with its parents: a run folder that is gone must not come back with this checkpoint alone.
  await mkdir(temporary);
  await fill(temporary);
  const fields = { version: 1 as const, step, final, files: await digestFolder(temporary) };
  const manifest: CheckpointManifest = { ...fields, sha256: digestManifest(fields) };
  await writeFile(path.join(temporary, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
  await rm(directory, { recursive: true, force: true });
  await rename(temporary, directory);
  await writeAtomically(path.join(root, latestFile), String(step));
  return { directory, manifest };
}

/**
 * Complete checkpoints of `root`, oldest first. Folders without a manifest are leftovers and not
 * listed.
 * @throws CheckpointError for a manifest that is not as it was written, or not in its folder
 */
export async function listCheckpoints(root: string): Promise<readonly Checkpoint[]> {
  const found: Checkpoint[] = [];
  for (const name of await readdirOrEmpty(root)) {
    if (!folderPattern.test(name)) continue;
    const directory = path.join(root, name);
    const manifest = await readManifest(directory);
    if (manifest) found.push({ directory, manifest });
  }
  return found.toSorted((a, b) => a.manifest.step - b.manifest.step);
}

/** @throws CheckpointError naming the first file that is missing or differs from its digest */
export async function verifyCheckpoint({ directory, manifest }: Checkpoint): Promise<void> {
  for (const file of manifest.files) {
    const full = path.join(directory, file.path);
    const sha256 = await digestFile(full).catch(() => 'missing');
    if (sha256 === file.sha256) continue;
    const what = sha256 === 'missing' ? 'is missing' : 'differs from its digest in the manifest';
    throw damaged(`Checkpoint ${directory}: ${file.path}`, what);
  }
}

/** Deletes all but the newest `keep` checkpoints, and unfinished ones of crashed writers. */
export async function pruneCheckpoints(root: string, keep: number | undefined): Promise<void> {
  for (const name of await readdirOrEmpty(root)) {
    if (name.endsWith('.tmp')) await rm(path.join(root, name), { recursive: true, force: true });
  }
  if (keep === undefined) return;
  const checkpoints = await listCheckpoints(root);
  for (const { directory } of checkpoints.slice(0, Math.max(0, checkpoints.length - keep)))
    await rm(directory, { recursive: true, force: true });
}

/** Writes, then renames: a reader sees the old text or the new one. */
export async function writeAtomically(file: string, text: string): Promise<void> {
  const temporary = `${file}.tmp`;
  await writeFile(temporary, text);
  await rename(temporary, file);
}

async function readManifest(directory: string): Promise<CheckpointManifest | undefined> {
  const file = path.join(directory, manifestFile);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw damaged(file, `cannot be read: ${describeError(error)}`, error);
  });
  if (text === undefined) return undefined;
  const manifest = parseManifest(file, text);
  const { version, step, final, files, sha256 } = manifest;
  const name = path.basename(directory);
  if (name !== checkpointName(step))
    throw damaged(file, `is that of step ${step}, but its folder is ${name}`);
  if (files.length === 0) throw damaged(file, 'names no files');
  if (sha256 !== undefined && sha256 !== digestManifest({ version, step, final, files }))
    throw damaged(file, 'has been changed since it was written: it differs from its digest');
  return manifest;
}

function parseManifest(file: string, text: string): CheckpointManifest {
  let manifest: Partial<CheckpointManifest> | null;
  try {
    manifest = JSON.parse(text) as Partial<CheckpointManifest> | null;
  } catch (cause) {
    throw damaged(file, 'is not JSON', cause);
  }
  const { version, step, files } = manifest ?? {};
  if (version === 1 && Number.isInteger(step) && Array.isArray(files))
    return manifest as CheckpointManifest;
  throw new CheckpointError(
    `${file} is not a manifest of version 1. Use the program that wrote it, or delete the folder.`,
    { code: 'CHECKPOINT_VERSION' },
  );
}

function damaged(file: string, what: string, cause?: unknown): CheckpointError {
  return new CheckpointError(
    `${file} ${what}. Delete the folder to resume from the checkpoint before it.`,
    { code: 'CHECKPOINT_DAMAGED', cause },
  );
}

const digestManifest = ({ version, step, final, files }: CheckpointManifest): string =>
  hash('sha256', JSON.stringify([version, step, final, files]), 'hex');

async function digestFolder(root: string): Promise<readonly CheckpointFile[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  return Promise.all(
    files.toSorted().map(async (file) => ({
      path: path.relative(root, file).replaceAll(path.sep, '/'),
      sizeBytes: (await stat(file)).size,
      sha256: await digestFile(file),
    })),
  );
}

async function digestFile(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

async function readdirOrEmpty(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
