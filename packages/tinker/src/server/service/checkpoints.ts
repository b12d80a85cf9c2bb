/**
 * Stores saved weights as folders. Their Tinker paths are `tinker://RUN/weights/NAME` and
 * `tinker://RUN/sampler_weights/NAME`.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { CheckpointError, describeError, type Logger } from '@trinity-rft/core';
import { readStored, writeManifest } from '@trinity-rft/core/engine';
import { replaceFile, tryJson } from '@trinity-rft/core/support';
import { formatTinkerPath, parseTinkerPath, type WeightsKind } from '../../protocol/index.js';
import { z } from 'zod';
import { Refusal } from '../refusals/refusal.js';

/** Names of the kinds of weights in the protocol's lists of checkpoints. */
export const checkpointKinds: Readonly<Record<WeightsKind, string>> = {
  weights: 'training',
  sampler_weights: 'sampler',
};

type Place = Pick<CheckpointInfo, 'runId' | 'kind' | 'name'>;

/** Properties of saved weights that never change. */
interface CheckpointInfo {
  readonly runId: string;
  readonly kind: WeightsKind;
  readonly name: string;
  readonly baseModel: string;
  /** LoRA rank; 0 if all weights were trained. */
  readonly rank: number;
  readonly alpha: number;
  readonly targetModules: 'all-linear' | readonly string[];
  /** Time at which the weights were saved, in ISO 8601. */
  readonly savedAt: string;
}

/** Properties of saved weights that can change after they are saved. */
export interface Standing {
  /** Lifetime in seconds from now; null to keep the weights forever. @default unchanged */
  readonly ttlSeconds?: number | null;
  /**
   * True to mark the weights as public in lists. The mark has no other effect, because the server's
   * API key gives access to all weights.
   * @default unchanged
   */
  readonly isPublic?: boolean;
}

export interface Checkpoint extends CheckpointInfo {
  readonly isPublic: boolean;
  /** Time of expiry, in ISO 8601. Undefined if the weights are kept forever. */
  readonly expiresAt: string | undefined;
  /** Tinker path of the weights: `tinker://RUN/KIND/NAME` */
  readonly uri: string;
  /** Folder of the weights, which can be loaded as a model. */
  readonly directory: string;
}

export interface Checkpoints {
  /**
   * Saves weights. `write` fills a temporary folder, which is renamed to the checkpoint's folder
   * once it is complete.
   * @throws Refusal 409 if the name is in use, unless `overwrite` is set
   */
  save(
    info: CheckpointInfo,
    write: (directory: string) => Promise<void>,
    options: { readonly overwrite: boolean; readonly ttlSeconds?: number | null },
  ): Promise<Checkpoint>;
  /**
   * Finds saved weights by their Tinker path.
   * @throws Refusal 422 if `uri` is not a Tinker path, Refusal 404 if no weights have this path,
   * and CheckpointError if a file that describes the weights is damaged
   */
  find(uri: string): Promise<Checkpoint>;
  /**
   * Returns the saved weights of one training run, or of all training runs if `runId` is undefined,
   * oldest first. Weights with a damaged description are omitted and logged.
   * @throws Refusal 422 if `runId` is not a valid id
   */
  list(runId?: string): Promise<readonly Checkpoint[]>;
  change(uri: string, standing: Standing): Promise<void>;
  /**
   * Deletes saved weights, even if their description is damaged.
   * @throws Refusal 422 if `uri` is not a Tinker path, Refusal 404 if no weights have this path
   */
  delete(uri: string): Promise<void>;
}

const infoFile = 'tinker.json';
const infoSchema = z.object({
  runId: z.string(),
  kind: z.enum(['weights', 'sampler_weights']),
  name: z.string(),
  baseModel: z.string(),
  rank: z.int().nonnegative(),
  alpha: z.number(),
  targetModules: z.union([z.literal('all-linear'), z.array(z.string())]),
  savedAt: z.string(),
});

/**
 * Returns the path of the file with those properties of a checkpoint that can change. It is outside
 * of the checkpoint's folder, because files in that folder never change.
 */
const standingFile = (directory: string): string => `${directory}.standing.json`;
const standingSchema = z.object({
  isPublic: z.boolean().default(false),
  expiresAt: z.string().optional(),
});

/**
 * Returns the path of a hidden folder next to a checkpoint, which lists do not show. It cannot
 * collide with other weights, because names of weights never contain "~".
 */
const beside = (directory: string, suffix: '' | '~' | '~gone'): string =>
  path.join(path.dirname(directory), `.${path.basename(directory)}${suffix}`);

const removeFiles = (directory: string): Promise<void> =>
  rm(directory, { recursive: true, force: true });

/** Deletes the folders that interrupted replacements and deletions of a checkpoint left behind. */
async function removeOld(directory: string): Promise<void> {
  for (const suffix of ['~', '~gone'] as const) await removeFiles(beside(directory, suffix));
}

/**
 * Renames a checkpoint's folder, if it exists, and deletes the file with its mutable properties,
 * which must not apply to weights saved later under the same name. Synchronous, so that no request
 * sees weights without their properties.
 */
function moveAway(directory: string, suffix: '~' | '~gone'): void {
  if (existsSync(directory)) renameSync(directory, beside(directory, suffix));
  rmSync(standingFile(directory), { force: true });
}

/**
 * Deletes weights. If the process is killed during the deletion, no partial weights remain under
 * their name.
 * @param isWanted called directly before the deletion; if it returns false, nothing is deleted.
 * @default always deletes
 */
async function remove(directory: string, isWanted = (): boolean => true): Promise<void> {
  await removeOld(directory);
  if (!isWanted()) return;
  moveAway(directory, '~gone');
  await removeOld(directory);
}

/**
 * Replaces a checkpoint's folder with a complete new one. The renames are synchronous, so that
 * every request finds either the old or the new weights. If the process is killed between them,
 * {@link restore} recovers the old weights.
 */
async function replace(draft: string, directory: string): Promise<void> {
  if (!restore(directory)) await removeFiles(beside(directory, '~'));
  moveAway(directory, '~');
  renameSync(draft, directory);
}

/**
 * Restores the old weights if their replacement was interrupted. Returns false if there is nothing
 * to restore.
 */
function restore(directory: string): boolean {
  const old = beside(directory, '~');
  if (existsSync(directory) || !existsSync(old)) return false;
  renameSync(old, directory);
  return true;
}

/**
 * Opens the store of saved weights in the folder `root`. Expired weights are deleted when they are
 * next looked up.
 * @param now returns the time in milliseconds since 1970
 */
export function checkpointsIn(
  root: string,
  now: () => number,
  logger: Pick<Logger, 'warn'>,
): Checkpoints {
  const placeOf = ({ runId, kind, name }: Place): string =>
    path.join(root, folderOf(runId), kind, name);
  const read = async (directory: string): Promise<Checkpoint | undefined> => {
    const file = path.join(directory, infoFile);
    const text = await readStored(file);
    if (text === undefined) {
      if (restore(directory)) return read(directory);
      await removeFiles(beside(directory, '~gone'));
      return undefined;
    }
    const info = parseFile(file, String(text), infoSchema);
    const standing = standingOf(directory);
    if (!isExpired(standing))
      return { ...info, expiresAt: undefined, ...standing, directory, uri: uriOf(info) };
    // Other weights may have replaced the expired ones meanwhile.
    await remove(directory, () => isExpired(standingOf(directory)));
    return read(directory);
  };
  const isExpired = ({ expiresAt }: z.output<typeof standingSchema>): boolean =>
    expiresAt !== undefined && Date.parse(expiresAt) <= now();
  const change = async (directory: string, standing: Standing): Promise<void> => {
    const before = standingOf(directory);
    const { ttlSeconds, isPublic = before.isPublic } = standing;
    const until =
      ttlSeconds === undefined
        ? before.expiresAt
        : ttlSeconds === null
          ? undefined
          : new Date(now() + ttlSeconds * 1000).toISOString();
    const file = standingFile(directory);
    await replaceFile(file, JSON.stringify({ isPublic, expiresAt: until }));
  };
  const readOrSkip = async (directory: string): Promise<Checkpoint | undefined> => {
    try {
      return await read(directory);
    } catch (error) {
      logger.warn(`Weights are left out of a list: ${describeError(error)}`);
      return undefined;
    }
  };
  const find = async (uri: string): Promise<Checkpoint> =>
    (await read(placeOf(parse(uri)))) ?? nothingAt(uri);
  return {
    find,
    change: async (uri, standing) => change((await find(uri)).directory, standing),
    save: async (info, write, { overwrite, ttlSeconds = null }) => {
      const directory = placeOf(info);
      if (!overwrite && (await read(directory)))
        throw new Refusal(
          409,
          `${uriOf(info)} exists already. Choose another name, or overwrite it.`,
        );
      const partial = beside(directory, '');
      await removeFiles(partial);
      await mkdir(partial, { recursive: true });
      try {
        await write(partial);
        await writeFile(path.join(partial, infoFile), `${JSON.stringify(info, undefined, 2)}\n`);
        await writeManifest(partial, { step: 0, final: false });
      } catch (error) {
        await removeFiles(partial);
        throw error;
      }
      await replace(partial, directory);
      if (ttlSeconds !== null) await change(directory, { ttlSeconds });
      await removeOld(directory);
      return find(uriOf(info));
    },
    list: async (runId) => {
      const runs = runId === undefined ? await folders(root) : [folderOf(assertRunId(runId))];
      const places = await Promise.all(
        runs.flatMap((run) =>
          (Object.keys(checkpointKinds) as readonly WeightsKind[]).map(async (kind) => {
            const directory = path.join(root, run, kind);
            const names = await folders(directory);
            return Promise.all(names.map((name) => readOrSkip(path.join(directory, name))));
          }),
        ),
      );
      return places
        .flat()
        .filter((found) => found !== undefined)
        .toSorted((a, b) => a.savedAt.localeCompare(b.savedAt));
    },
    delete: async (uri) => {
      const directory = placeOf(parse(uri));
      if (!existsSync(directory) && !restore(directory)) nothingAt(uri);
      await remove(directory);
    },
  };
}

function standingOf(directory: string): z.output<typeof standingSchema> {
  const file = standingFile(directory);
  return parseFile(file, existsSync(file) ? readFileSync(file, 'utf8') : '{}', standingSchema);
}

/** Parses the JSON content of a file. @throws CheckpointError naming the file if it is damaged */
function parseFile<T>(file: string, text: string, schema: z.ZodType<T>): T {
  const { success, data, error } = schema.safeParse(tryJson(text));
  if (success) return data;
  throw new CheckpointError(
    `${file} is damaged: ${error.issues[0]?.message ?? 'it cannot be read'}. Restore the file, or delete the weights that it describes.`,
    { code: 'CHECKPOINT_DAMAGED' },
  );
}

function nothingAt(uri: string): never {
  throw new Refusal(
    404,
    `There are no weights at ${uri}. Save them first, or list the checkpoints.`,
  );
}

const uriOf = ({ runId, kind, name }: Place): string =>
  formatTinkerPath({ modelId: runId, kind, name });

/**
 * Returns the folder name of a training run. Colons are replaced, because some file systems do not
 * allow them.
 */
export const folderOf = (runId: string): string => runId.replaceAll(':', '_');

const runIdOf = /^[\w:-]+$/;
const nameOf = /^[\w-][\w.-]{0,99}$/;

/**
 * Checks that a name for weights is valid as a folder name, and returns it.
 * @throws Refusal 422 if the name is not valid
 */
export function assertName(name: string): string {
  if (nameOf.test(name)) return name;
  throw new Refusal(
    422,
    `"${name.slice(0, 120)}" is no name for weights. Expected up to 100 letters, digits, ".", "_" and "-", not beginning with ".".`,
  );
}

/**
 * Checks that the id of a training run is valid as a folder name, and returns it.
 * @throws Refusal 422 if the id is not valid
 */
function assertRunId(runId: string): string {
  if (runIdOf.test(runId)) return runId;
  throw new Refusal(
    422,
    `"${runId.slice(0, 200)}" is no id of a training run. Expected letters, digits, "_", "-" and ":".`,
  );
}

function parse(uri: string): Place {
  const { modelId: runId = '', kind = 'weights', name = '' } = parseTinkerPath(uri) ?? {};
  if (!runIdOf.test(runId))
    throw new Refusal(
      422,
      `"${uri.slice(0, 200)}" is no address of weights. Expected tinker://RUN/weights/NAME or tinker://RUN/sampler_weights/NAME.`,
    );
  return { runId, kind, name: assertName(name) };
}

/**
 * Returns the names of a folder's subfolders. Includes weights whose replacement or deletion was
 * interrupted.
 */
async function folders(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name.replace(/^\.(.+)~(?:gone)?$/, '$1'));
  return [...new Set(names)].filter((name) => nameOf.test(name));
}
