/**
 * Writes and lists checkpoint folders. A checkpoint is complete if its folder has a manifest. A new
 * checkpoint is written under a temporary name and then renamed. An old checkpoint is renamed
 * before it is deleted or replaced.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { describeError, CheckpointError } from '@trinity-rft/core';
import {
  checkpointName,
  isCheckpointName,
  readManifest,
  verifyFolder,
  writeManifest,
  type CheckpointManifest,
  type TrainEngine,
} from '@trinity-rft/core/engine';
import { boundary, removeFolder, replaceFile, replaceFolder } from '@trinity-rft/core/support';

/** File with the train step of the newest complete checkpoint, in Trinity-RFT's format. */
const latestFile = 'latest_checkpointed_iteration.txt';

export interface Checkpoint {
  readonly directory: string;
  readonly manifest: CheckpointManifest;
}

export interface WriteCheckpointOptions {
  readonly step: number;
  readonly final: boolean;
  readonly fill: (directory: string) => Promise<void>;
}

/**
 * Calls `fill` with a new folder, and then renames the folder to `global_step_<step>` in the
 * existing folder `root`. Replaces an existing checkpoint of that step.
 * @throws CheckpointError naming the folder if it cannot be written
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

const draftEnding = '.tmp';
const draftPattern = /^global_step_\d+(\.removed)?\.tmp$/;

/**
 * Lists the checkpoint folders with temporary names. Other processes of a run have files with
 * temporary names in the same folder.
 */
const draftsIn = async (root: string): Promise<readonly string[]> =>
  (await readdirOrEmpty(root)).filter((name) => draftPattern.test(name));

async function fillAndRename(root: string, options: WriteCheckpointOptions): Promise<Checkpoint> {
  const { step } = options;
  const directory = path.join(root, checkpointName(step));
  const temporary = `${directory}${draftEnding}`;
  await rm(temporary, { recursive: true, force: true });
  // Not recursive: if the folder of the training run was deleted, it is not created again for this
  // checkpoint alone.
  await mkdir(temporary);
  const manifest = await fillWhole(temporary, options);
  await replaceFolder(temporary, directory);
  await replaceFile(path.join(root, latestFile), String(step));
  return { directory, manifest };
}

/**
 * Fills a draft of a checkpoint and writes its manifest. If that fails, removes the draft, which
 * would otherwise take up space on a full disk.
 */
async function fillWhole(
  draft: string,
  { step, final, fill }: WriteCheckpointOptions,
): Promise<CheckpointManifest> {
  try {
    await fill(draft);
    return await writeManifest(draft, { step, final });
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Lists the complete checkpoints of `root`, oldest first. Folders without a manifest are leftovers
 * and are omitted.
 * @throws CheckpointError for a manifest that was changed, or that belongs to another folder
 */
export async function listCheckpoints(root: string): Promise<readonly Checkpoint[]> {
  const found: Checkpoint[] = [];
  for (const name of await readdirOrEmpty(root)) {
    if (!isCheckpointName(name)) continue;
    const directory = path.join(root, name);
    const manifest = await readManifest(directory);
    if (manifest) found.push({ directory, manifest });
  }
  return found.toSorted((a, b) => a.manifest.step - b.manifest.step);
}

/**
 * Lists the complete checkpoints of `root` as {@link listCheckpoints} does, for the process that
 * resumes the training run. If the writer of a checkpoint was killed between the last two renames,
 * so that its folder only has a temporary name, renames the folder. Deletes all other checkpoint
 * folders with temporary names.
 */
export async function checkpointsToResume(root: string): Promise<readonly Checkpoint[]> {
  for (const draft of await draftsIn(root)) {
    const name = draft.slice(0, -draftEnding.length);
    const folder = path.join(root, draft);
    const isNeeded =
      isCheckpointName(name) &&
      !(await isComplete(path.join(root, name))) &&
      (await isComplete(folder));
    if (isNeeded) await replaceFolder(folder, path.join(root, name));
    else await rm(folder, { recursive: true, force: true });
  }
  return listCheckpoints(root);
}

/** The engine that wrote the checkpoints of a folder. */
type CheckpointOwner = Pick<TrainEngine, 'discard'>;

async function removeCheckpoint({ directory }: Checkpoint, engine: CheckpointOwner): Promise<void> {
  await engine.discard?.(directory);
  await removeFolder(directory);
}

/**
 * Deletes the checkpoints of the steps after `step`. Must be called before a training run resumes
 * from `step` and repeats these steps. Otherwise the old checkpoints would count as the newest:
 * they would displace the checkpoints that the training run writes, and would be loaded in their
 * place.
 */
export async function dropCheckpointsAfter(
  root: string,
  step: number,
  engine: CheckpointOwner,
): Promise<void> {
  const later = (await listCheckpoints(root)).filter(({ manifest }) => manifest.step > step);
  if (later.length === 0) return;
  await replaceFile(path.join(root, latestFile), String(step));
  for (const checkpoint of later) await removeCheckpoint(checkpoint, engine);
}

/**
 * Compares the files of a checkpoint with the digests in its manifest.
 * @throws CheckpointError naming the first file that is missing or differs from its digest
 */
export const verifyCheckpoint = ({ directory, manifest }: Checkpoint): Promise<void> =>
  verifyFolder(directory, manifest);

/**
 * Deletes the unfinished checkpoints of crashed processes, and all complete checkpoints except the
 * newest `keep`. If `keep` is undefined, deletes no complete checkpoint.
 */
export async function pruneCheckpoints(
  root: string,
  keep: number | undefined,
  engine: CheckpointOwner,
): Promise<void> {
  for (const name of await draftsIn(root))
    await rm(path.join(root, name), { recursive: true, force: true });
  if (keep === undefined) return;
  const checkpoints = await listCheckpoints(root);
  for (const checkpoint of checkpoints.slice(0, Math.max(0, checkpoints.length - keep)))
    await removeCheckpoint(checkpoint, engine);
}

/** Returns true for a checkpoint folder with a readable manifest. */
const isComplete = async (directory: string): Promise<boolean> =>
  (await readManifest(directory).catch(() => undefined)) !== undefined;

async function readdirOrEmpty(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
