/** Computes digests of the inputs of a stage other than its configuration: files and rows. */
import { hash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isGguf } from '@trinity-rft/chat/gguf';
import type { StageConfig } from '@trinity-rft/config';
import { digestOfFile } from '@trinity-rft/core/engine';
import { isWithin } from '../../assembly/data/run-id.js';
import { settingsOf } from '../../assembly/settings.js';

interface InputDigest {
  readonly sha256: string;
  /** Metadata of a large file, which is read again only if the metadata changes. */
  readonly stat?: FileStat;
}

/**
 * Digests of files and rows. The key is the setting that names the file or rows, or
 * `<setting>/<file>` for a file in a folder.
 */
export type Inputs = Readonly<Record<string, InputDigest>>;

/**
 * Metadata that changes with every write. It includes the status-change time, which programs cannot
 * set.
 */
interface FileStat {
  readonly sizeBytes: number;
  readonly changedMs: number;
  readonly inode: number;
}

export interface InputSources {
  /** Digests of rows, keyed by the setting that names the rows. */
  readonly rows: Readonly<Record<string, string>>;
  /** Paths of the plugins' modules. */
  readonly plugins: readonly string[];
  /** Directory that relative paths in arguments start from. */
  readonly cwd: string;
  /** Inputs when the stage was last started. */
  readonly before: Inputs | undefined;
}

/**
 * Returns true if the training run must not continue after a change of the input. Returns false for
 * plugins, and for files in arguments, which the training run itself may write.
 */
export const isBinding = (key: string): boolean => !/^plugins\/|[_.]args\./.test(key);

/** Matches keys of model folders, of which only files at the top level are read. */
export const ofModels =
  /^(?:model\.(?:model_path|critic_model_path|lora_configs\[\d+\]\.path)|explorer\.auxiliary_models\[\d+\]\.model_path)$/;
/** Matches keys of arguments for the user's code that may name a file. */
const ofUsers = /^(?!monitor\.).*[_.]args\.(?!.*(?:cache|out|log|tmp|save|work|result))/;

export async function inputsOf(stage: StageConfig, sources: InputSources): Promise<Inputs> {
  const { rows, plugins, cwd } = sources;
  const files = new Map<string, string>();
  for (const [key, value] of Object.entries(settingsOf(stage))) {
    if (typeof value !== 'string' || value.length > 1000) continue;
    if (ofModels.test(key)) for (const each of await filesOfModel(key, value)) files.set(...each);
    else if (ofUsers.test(key)) {
      const place = path.resolve(cwd, value);
      const isData = !isWithin(stage.jobDirectory, place) && !isWithin(place, stage.jobDirectory);
      if (isData) for (const each of await filesOfArgument(key, place)) files.set(...each);
    }
  }
  for (const file of plugins) files.set(`plugins/${path.relative(cwd, file)}`, file);
  const digests = Object.fromEntries(
    Object.entries(rows).map(([key, sha256]) => [key, { sha256 }] as const),
  );
  for (const [key, file] of files) {
    const binding = isBinding(key);
    const digest = await digestOf(file, sources.before?.[key], binding).catch((error: unknown) => {
      // A file that an argument may name is only noted: it may be unreadable, or no longer there.
      if (binding) throw error;
    });
    if (digest) digests[key] = digest;
  }
  return digests;
}

/**
 * Returns the keys of inputs that differ, including files that were added to or removed from a
 * folder.
 */
export function changedInputs(before: Inputs, now: Inputs): readonly string[] {
  const settings = new Set(Object.keys(before).map((key) => key.split('/')[0]));
  const keys = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...keys].filter(
    (key) =>
      before[key]?.sha256 !== now[key]?.sha256 &&
      (Object.hasOwn(before, key) || settings.has(key.split('/')[0])),
  );
}

type NamedFile = readonly [key: string, file: string];

/**
 * Returns the files of a model folder. Returns none for a hub id, whose revision identifies the
 * files.
 */
async function filesOfModel(key: string, place: string): Promise<readonly NamedFile[]> {
  if (!path.isAbsolute(place)) return [];
  if (isGguf(place)) return [[key, place]];
  const names = await filesIn(place);
  return names
    .filter((name) => !/^\.|\.md$/i.test(name))
    .map((name) => [`${key}/${name}`, path.join(place, name)]);
}

/** Returns the names of files and links to files in a folder, or none if it cannot be read. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const areFiles = await Promise.all(
    entries.map(async (entry) =>
      entry.isSymbolicLink()
        ? ((await stat(path.join(folder, entry.name)).catch(() => undefined))?.isFile() ?? false)
        : entry.isFile(),
    ),
  );
  return entries.flatMap(({ name }, i) => (areFiles[i] ? [name] : []));
}

/**
 * Maximum number of files of a folder (without subfolders) that are considered inputs. The other
 * files of a larger folder are ignored, because it is probably a data set of which only parts are
 * read.
 */
const mostFiles = 200;

async function filesOfArgument(key: string, place: string): Promise<readonly NamedFile[]> {
  const found = await stat(place).catch(() => undefined);
  if (found?.isFile()) return [[key, place]];
  if (!found?.isDirectory()) return [];
  // In the order of names, because another disk may list the same files in another order.
  return (await filesIn(place))
    .toSorted()
    .slice(0, mostFiles)
    .map((name) => [`${key}/${name}`, path.join(place, name)]);
}

const largeBytes = 64 * 2 ** 20;
/** Maximum size of a file that is read although it does not bind. */
const mostBytes = 256 * 2 ** 20;
/** Resolution of file timestamps on the coarsest common file systems, in ms. */
const coarseMs = 2000;

/**
 * Computes the digest of a file. A file that does not bind is not read if it is larger than
 * {@link mostBytes}, or empty as the endless files of /proc are: it is compared by its size. If the
 * file is as `before` describes it, returns `before`.
 */
async function digestOf(
  file: string,
  before: InputDigest | undefined,
  binding: boolean,
): Promise<InputDigest> {
  const { size: sizeBytes, ctimeMs: changedMs, ino: inode } = await stat(file);
  const now = { sizeBytes, changedMs, inode };
  const { stat: then } = before ?? {};
  const isSame =
    then?.sizeBytes === sizeBytes && then.changedMs === changedMs && then.inode === inode;
  if (before && isSame) return before;
  if (!binding && (sizeBytes === 0 || sizeBytes > mostBytes)) {
    // Earlier versions read larger files too. Their digests are of the contents.
    if (before && then?.sizeBytes === sizeBytes) return before;
    return { sha256: hash('sha256', sizeBytes === 0 ? '' : `${sizeBytes} bytes`, 'hex') };
  }
  const isLarge = sizeBytes > largeBytes && Date.now() - changedMs > coarseMs;
  const sha256 = await digestOfFile(file);
  return isLarge ? { sha256, stat: now } : { sha256 };
}
