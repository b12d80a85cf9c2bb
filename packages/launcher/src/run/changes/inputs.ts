/** Inputs of a stage besides its configuration: a digest of each file, and of the rows of each data set. */
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { isGguf } from '@trinity-rft/chat/gguf';
import type { StageConfig } from '@trinity-rft/config';
import { digestOfFile } from '@trinity-rft/core/engine';
import { isWithin } from '../../assembly/data/run-id.js';
import { settingsOf } from '../../assembly/settings.js';

interface InputDigest {
  readonly sha256: string;
  /** Facts of a large file: while they are the same, it is not read again. */
  readonly stat?: FileStat;
}

/** Digests by the key of the setting that names the file; `<key>/<file>` for a file in a folder. */
export type Inputs = Readonly<Record<string, InputDigest>>;

/** Any write changes the time of the last change of a file, which programs cannot set. */
interface FileStat {
  readonly sizeBytes: number;
  readonly changedMs: number;
  readonly inode: number;
}

export interface InputSources {
  /** Digests of rows, by the key of the setting that names them. */
  readonly rows: Readonly<Record<string, string>>;
  /** Modules of plugins. */
  readonly plugins: readonly string[];
  /** Relative paths in arguments start here. */
  readonly cwd: string;
  /** Inputs of the last start. */
  readonly before: Inputs | undefined;
}

/** A change of these is refused; the run may write what other arguments name. */
export const isBinding = (key: string): boolean => !/^plugins\/|[_.]args\./.test(key);

/** Folders of models, of which the files at the top are read. */
const ofModels =
  /^(?:model\.(?:model_path|critic_model_path|lora_configs\[\d+\]\.path)|explorer\.auxiliary_models\[\d+\]\.model_path)$/;
/** Arguments of the user's code, which may name a file. */
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
  for (const [key, file] of files) digests[key] = await digestOf(file, sources.before?.[key]);
  return digests;
}

/** Keys of what differs, and of files that came to a folder or went. */
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

/** An id of the hub has a fixed revision, so its files are those of the id. */
async function filesOfModel(key: string, place: string): Promise<readonly NamedFile[]> {
  if (!path.isAbsolute(place)) return [];
  if (isGguf(place)) return [[key, place]];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => !entry.isDirectory() && !/^\.|\.md$/i.test(entry.name))
    .map(({ name }) => [`${key}/${name}`, path.join(place, name)]);
}

/** More files, or deeper ones, are data that a program selects from. */
const mostFiles = 200;

async function filesOfArgument(key: string, place: string): Promise<readonly NamedFile[]> {
  const found = await stat(place).catch(() => undefined);
  if (found?.isFile()) return [[key, place]];
  if (!found?.isDirectory()) return [];
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile())
    .slice(0, mostFiles)
    .map(({ name }) => [`${key}/${name}`, path.join(place, name)]);
}

const largeBytes = 64 * 2 ** 20;
/** Times of files may be this coarse, in ms. */
const coarseMs = 2000;

async function digestOf(file: string, before: InputDigest | undefined): Promise<InputDigest> {
  const { size: sizeBytes, ctimeMs: changedMs, ino: inode } = await stat(file);
  const now = { sizeBytes, changedMs, inode };
  const { stat: then } = before ?? {};
  const isSame =
    then?.sizeBytes === sizeBytes && then.changedMs === changedMs && then.inode === inode;
  if (before && isSame) return before;
  const isLarge = sizeBytes > largeBytes && Date.now() - changedMs > coarseMs;
  const sha256 = await digestOfFile(file);
  return isLarge ? { sha256, stat: now } : { sha256 };
}
