/** Finds models of the Hugging Face hub in the cache, describes them, and fetches them. */
import { readdirSync, readFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError, CancelledError } from '@trinity-rft/core';
import { hubTokenOf, hubUrlOf, parseModelId, type ModelId } from '@trinity-rft/core/support';
import { byteSize, fetchFile, type RemoteFile } from './fetch-file.js';
import { listRemoteFiles } from './list-files.js';
import {
  cacheDirectoryOf,
  exists,
  hubAccess,
  isSet,
  reasonOf,
  type CacheOptions,
} from './hub-access.js';
import { hubFolder, readText, writeText } from './hub-cache.js';
import { chooseModelFiles, completeModel } from './model-files.js';
import { guardStalls, type DownloadOptions } from './stall-guard.js';

export interface HubModelOptions extends CacheOptions, Omit<DownloadOptions, 'stallMs' | 'signal'> {
  /** Maximum time in milliseconds without progress before a download fails. @default 60000 */
  readonly stallMs?: number;
  readonly signal?: AbortSignal | undefined;
}

interface HubModel {
  readonly id: string;
  /** Commit hash of the revision. */
  readonly revision: string;
  /** Folder in the cache for the model's files. */
  readonly folder: string;
  /** Files in the order in which they are fetched. */
  readonly files: readonly RemoteFile[];
  /** Size of the files that are not in the cache yet, in bytes. */
  readonly missingBytes: number;
}

/**
 * Returns the path of the model (a folder or a GGUF file) if all its files are in the cache, and
 * undefined otherwise.
 */
export function findCachedModel(id: string, options: CacheOptions): string | undefined {
  const model = parsed(id);
  const place = hubFolder(cacheDirectoryOf(options), 'models', model.repository);
  try {
    const folder = join(place, 'snapshots', cachedRevision(place, model));
    const inside = (name: string): string => join(folder, name);
    const paths = readdirSync(folder, { recursive: true }).map(String);
    if (model.file !== undefined)
      return paths.includes(model.file) ? inside(model.file) : undefined;
    const found = completeModel(paths, (name) => readFileSync(inside(name), 'utf8'));
    return found === undefined ? undefined : inside(found);
  } catch {
    return undefined;
  }
}

const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);

const cachedRevision = (place: string, { revision }: ModelId): string =>
  isCommit(revision) ? revision : readFileSync(join(place, 'refs', revision), 'utf8').trim();

/**
 * Returns the files that a model consists of, according to the hub. Does not fetch any of them.
 * @throws ConfigError if the hub cannot be reached or has no such model; CancelledError if the
 * signal aborts
 */
export async function describeHubModel(id: string, options: HubModelOptions): Promise<HubModel> {
  const model = parsed(id);
  const { environment } = options;
  if (isSet(environment['HF_HUB_OFFLINE']))
    throw unreachable(id, options, new Error('HF_HUB_OFFLINE is set'));
  try {
    return await ask(id, model, options);
  } catch (cause) {
    throw explained(id, options, cause);
  }
}

async function ask(id: string, model: ModelId, options: HubModelOptions): Promise<HubModel> {
  // Loaded on first use, because most training runs read local files.
  const { modelInfo } = await import('@huggingface/hub');
  const { environment } = options;
  const { repository } = model;
  const guarded = { ...downloadOptions(options), what: hubUrlOf(environment) };
  return guardStalls(guarded, async (guard) => {
    const access = hubAccess(environment, guard);
    const info = { ...access, name: repository, revision: model.revision };
    // A download that was interrupted continues with its revision.
    const revision =
      (await startedRevision(model, options)) ??
      (await modelInfo({ ...info, additionalFields: ['sha'] })).sha;
    const found = await listRemoteFiles(
      { type: 'model', name: repository, revision },
      environment,
      guard,
    );
    const files = chooseModelFiles([...found.keys()], id, model).flatMap(
      (path) => found.get(path) ?? [],
    );
    const folder = join(placeOf(model, options), 'snapshots', revision);
    let missingBytes = 0;
    for (const { path, size } of files)
      if (!(await exists(join(folder, path)))) missingBytes += size;
    return { id, revision, folder, files, missingBytes };
  });
}

async function startedRevision(model: ModelId, options: CacheOptions): Promise<string | undefined> {
  if (isCommit(model.revision)) return model.revision;
  const ref = join(placeOf(model, options), 'refs', model.revision);
  return (await readText(ref))?.trim() || undefined;
}

const placeOf = ({ repository }: ModelId, options: CacheOptions): string =>
  hubFolder(cacheDirectoryOf(options), 'models', repository);

const downloadOptions = ({ clock, report, stallMs = 60_000, signal }: HubModelOptions) =>
  ({ clock, report, stallMs, signal }) satisfies DownloadOptions;

/** Fetches only `config.json`, which is enough to compute the memory that the model needs. */
export async function fetchModelShape(model: HubModel, options: HubModelOptions): Promise<void> {
  const shape = model.files.filter(({ path }) => path === 'config.json');
  await fetchAll({ ...model, files: shape }, options);
}

/**
 * Fetches the missing files of a model, and returns the path of the model in the cache. If all
 * files are cached, the network is not used. To get a newer revision, delete the folder.
 * @throws ConfigError that names the model, the host and what to do; CancelledError if the signal
 * aborts
 */
export async function fetchHubModel(id: string, options: HubModelOptions): Promise<string> {
  const cached = findCachedModel(id, options);
  if (cached !== undefined) return cached;
  const model = await describeHubModel(id, options);
  await checkSpace(model, options);
  const host = hubUrlOf(options.environment);
  options.report(
    `Fetching ${id}: ${byteSize(model.missingBytes)} in ${model.files.length} files, from ${host} to ${model.folder}.`,
  );
  await fetchAll(model, options);
  const { file } = parsed(id);
  const weights =
    file ?? model.files.find(({ path }) => path.toLowerCase().endsWith('.gguf'))?.path;
  return weights === undefined ? model.folder : join(model.folder, weights);
}

async function fetchAll(
  { id, folder, files, revision }: HubModel,
  options: HubModelOptions,
): Promise<void> {
  const model = parsed(id);
  const place = placeOf(model, options);
  const token = hubTokenOf(options.environment);
  if (!isCommit(model.revision)) await writeText(join(place, 'refs', model.revision), revision);
  for (const file of files) {
    try {
      const fetching = { ...downloadOptions(options), token, folder: place };
      await fetchFile(file, join(folder, file.path), fetching);
    } catch (cause) {
      throw explained(id, options, cause, file.path);
    }
  }
}

async function checkSpace({ id, missingBytes }: HubModel, options: HubModelOptions): Promise<void> {
  const cache = cacheDirectoryOf(options);
  const disk = await statfs(cache).catch(() => undefined);
  if (disk === undefined) return;
  const free = disk.bavail * disk.bsize;
  if (free < missingBytes)
    throw new ConfigError(
      `${id} needs ${byteSize(missingBytes)}, and the disk of ${cache} has ${byteSize(free)} left. Free some, or set HF_HUB_CACHE to a folder on another disk.`,
      { code: 'HUB_DISK_FULL' },
    );
}

function parsed(id: string): ModelId {
  const model = parseModelId(id);
  if (model) return model;
  throw new ConfigError(
    `${id} is not the id of a model on the hub. Expected owner/name, owner/name/file.gguf, or either with @revision.`,
    { code: 'HUB_MODEL_ID' },
  );
}

function explained(id: string, options: HubModelOptions, cause: unknown, file?: string): unknown {
  const isCancelled = cause instanceof CancelledError && cause.reason !== 'timeout';
  return isCancelled || cause instanceof ConfigError
    ? cause
    : unreachable(id, options, cause, file);
}

function unreachable(
  id: string,
  options: HubModelOptions,
  cause: unknown,
  file?: string,
): ConfigError {
  const { environment } = options;
  const status = (cause as { statusCode?: unknown }).statusCode;
  const isRefused = status === 401 || status === 403 || status === 404;
  const token = hubTokenOf(environment) === undefined ? 'not set' : 'set';
  const advice = isRefused
    ? `It does not exist, or it is private or gated: check the name, and set HF_TOKEN to a token that may read it (now ${token}).`
    : `Try again, which continues where this stopped; or set HF_ENDPOINT to a mirror, or fetch it elsewhere and give its folder as the path of the model.`;
  const what = file === undefined ? id : `${file} of ${id}`;
  return new ConfigError(
    `${what} is not in the cache (${placeOf(parsed(id), options)}) and could not be fetched from ${hubUrlOf(environment)}: ${reasonOf(cause)}. ${advice}`,
    { code: 'HUB_UNREACHABLE', details: { id, status }, cause },
  );
}
