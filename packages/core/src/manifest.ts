/**
 * Reads and writes `manifest.json` of a checkpoint, which has a digest of each file. Files are
 * verified against their digests when they are read, even if the folder was moved.
 */
import { createHash, hash } from 'node:crypto';
import { open, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError, describeError } from './errors.js';

const manifestFile = 'manifest.json';
const folderPattern = /^global_step_(\d+)$/;
/**
 * Maximum number of folders between a manifest and a file that it names, as in
 * `critic/optimizer/<file>`.
 */
const deepest = 2;

export interface CheckpointFile {
  /** Path relative to the checkpoint, with forward slashes. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface CheckpointManifest {
  readonly version: 1;
  readonly step: number;
  /** True for the last checkpoint of a finished stage. */
  readonly final: boolean;
  readonly files: readonly CheckpointFile[];
  /** Digest of the other fields. Undefined in manifests of older versions. */
  readonly sha256?: string;
}

export const checkpointName = (step: number): string => `global_step_${step}`;

/** Returns true for folder names that {@link checkpointName} returns. */
export const isCheckpointName = (name: string): boolean => folderPattern.test(name);

/**
 * Returns the train steps of all checkpoints in a folder, ascending. Includes incomplete
 * checkpoints. Returns an empty list if the folder cannot be read.
 */
export async function checkpointSteps(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names
    .flatMap((name) => folderPattern.exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b);
}

/** Computes the digest of every file in a complete folder, and writes the manifest. */
export async function writeManifest(
  directory: string,
  { step, final }: Pick<CheckpointManifest, 'step' | 'final'>,
): Promise<CheckpointManifest> {
  const fields = { version: 1 as const, step, final, files: await digestFolder(directory) };
  const manifest: CheckpointManifest = { ...fields, sha256: digestManifest(fields) };
  await writeFile(path.join(directory, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/**
 * Reads a manifest. Returns undefined if there is no manifest. In a folder without the name of a
 * checkpoint, a file in another format is assumed to belong to another program, and undefined is
 * returned too.
 * @throws CheckpointError for a manifest that was changed, lists no files, or was written for
 * another step; in the folder of a checkpoint also for a manifest that cannot be read
 */
export async function readManifest(directory: string): Promise<CheckpointManifest | undefined> {
  const file = path.join(directory, manifestFile);
  const name = path.basename(path.resolve(directory));
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if (isMissing(error) || !isCheckpointName(name)) return undefined;
    throw damaged(file, `cannot be read: ${describeError(error)}`, error);
  });
  if (text === undefined) return undefined;
  const manifest = parseManifest(file, text, isCheckpointName(name));
  if (manifest === undefined) return undefined;
  const { version, step, final, files, sha256 } = manifest;
  if (isCheckpointName(name) && name !== checkpointName(step))
    throw damaged(file, `is that of step ${step}, but its folder is ${name}`);
  if (files.length === 0) throw damaged(file, 'names no files');
  if (sha256 !== undefined && sha256 !== digestManifest({ version, step, final, files }))
    throw damaged(file, 'has been changed since it was written: it differs from its digest');
  return manifest;
}

/**
 * Verifies each file that a manifest lists against its digest.
 * @throws CheckpointError naming the first file that is missing or differs; the reason of `signal`
 */
export async function verifyFolder(
  directory: string,
  { files }: Pick<CheckpointManifest, 'files'>,
  signal?: AbortSignal,
): Promise<void> {
  const digest: Digest = (file) => digestIfThere(file, signal);
  for (const entry of files) await compare(directory, entry, digest);
}

/**
 * Reads a small file of a model folder. Returns undefined if the file does not exist.
 * @throws CheckpointError if the folder is a checkpoint whose manifest names the file, and the file
 * is missing or differs from its digest
 */
export async function readStored(file: string): Promise<Buffer | undefined> {
  const bytes = await readFile(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  await verifyStored(file, async () => bytes && hash('sha256', bytes, 'hex'));
  return bytes;
}

/**
 * Verifies a file of a model folder against its digest, if a manifest lists the file. Takes about
 * 0.7 s per gigabyte.
 * @throws CheckpointError if the file is missing or differs from its digest
 */
export async function verifyStored(file: string, digest: Digest = digestIfThere): Promise<void> {
  const full = path.resolve(file);
  let directory = path.dirname(full);
  for (let above = 0; above <= deepest; above++, directory = path.dirname(directory)) {
    const manifest = await readManifest(directory);
    if (!manifest) continue;
    const name = slashed(path.relative(directory, full));
    const entry = manifest.files.find((each) => each.path === name);
    return entry && compare(directory, entry, digest);
  }
}

/** Computes the digest of a file. Returns undefined if the file does not exist. */
type Digest = (file: string) => Promise<string | undefined>;

async function compare(directory: string, entry: CheckpointFile, digest: Digest): Promise<void> {
  const sha256 = await digest(path.join(directory, entry.path));
  if (sha256 === entry.sha256) return;
  const what = sha256 === undefined ? 'is missing' : 'differs from its digest in the manifest';
  throw damaged(`Checkpoint ${directory}: ${entry.path}`, what);
}

/**
 * Parses a manifest. Returns undefined if it belongs to another program.
 * @param isOurs true if a manifest in another format is an error; false if the manifest may belong
 * to another program
 */
function parseManifest(
  file: string,
  text: string,
  isOurs: boolean,
): CheckpointManifest | undefined {
  let manifest: Partial<CheckpointManifest> | null;
  try {
    manifest = JSON.parse(text) as Partial<CheckpointManifest> | null;
  } catch (cause) {
    if (!isOurs) return undefined;
    throw damaged(file, 'is not JSON', cause);
  }
  const { version, step, files } = manifest ?? {};
  if (version === 1 && Number.isInteger(step) && Array.isArray(files))
    return manifest as CheckpointManifest;
  if (!isOurs) return undefined;
  throw new CheckpointError(
    `${file} is not a manifest of version 1. Use the program that wrote it, or delete the folder.`,
    { code: 'CHECKPOINT_VERSION' },
  );
}

function damaged(file: string, what: string, cause?: unknown): CheckpointError {
  return new CheckpointError(
    `${file} ${what}. Delete the folder to resume from the checkpoint before it, or copy the checkpoint again; if the change was intended, delete its ${manifestFile}.`,
    { code: 'CHECKPOINT_DAMAGED', cause },
  );
}

const digestManifest = ({ version, step, final, files }: CheckpointManifest): string =>
  hash('sha256', JSON.stringify([version, step, final, files]), 'hex');

/**
 * Returns the sizes and digests of all files below a folder, sorted by path.
 * @throws the reason of `signal`
 */
export async function digestFolder(
  root: string,
  signal?: AbortSignal,
): Promise<readonly CheckpointFile[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const found: CheckpointFile[] = [];
  for (const file of files.toSorted())
    found.push({
      path: slashed(path.relative(root, file)),
      sizeBytes: (await stat(file)).size,
      sha256: await digestOfFile(file, signal),
    });
  return found;
}

const slashed = (name: string): string => name.replaceAll(path.sep, '/');

/**
 * Returns the SHA-256 digest of a file in hexadecimal. Takes about 0.7 s per gigabyte.
 * @throws the reason of `signal`
 */
export async function digestOfFile(file: string, signal?: AbortSignal): Promise<string> {
  const digest = createHash('sha256');
  await using handle = await open(file);
  // A stream would allocate buffers faster than the garbage collector frees them.
  const buffer = new Uint8Array(1 << 20);
  for (let size = 1; size > 0;) {
    signal?.throwIfAborted();
    ({ bytesRead: size } = await handle.read(buffer));
    digest.update(buffer.subarray(0, size));
  }
  return digest.digest('hex');
}

const digestIfThere = (file: string, signal?: AbortSignal): ReturnType<Digest> =>
  digestOfFile(file, signal).catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });

/**
 * Returns true for ENOENT and ENOTDIR. ENOTDIR means that a parent of the path is a file, such as a
 * GGUF file given as the model.
 */
const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR'].includes(String((error as NodeJS.ErrnoException).code));
