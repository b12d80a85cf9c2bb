/** Finds the files of a split of a Hugging Face dataset in the cache, or fetches them. */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CancelledError, TaskError } from '@trinity-rft/core';
import { hubTokenOf, hubUrlOf } from '@trinity-rft/core/support';
import { cacheDirectoryOf, hubAccess, isSet, reasonOf, type CacheOptions } from './hub-access.js';
import { byteSize, fetchFile } from './fetch-file.js';
import { hubCache, readText, type HubCache } from './hub-cache.js';
import { listRemoteFiles } from './list-files.js';
import { oneAtATime } from './one-at-a-time.js';
import { guardStalls, type DownloadOptions, type StallGuard } from './stall-guard.js';

export interface HubRequest extends DownloadOptions, CacheOptions {
  /** Hub id: `owner/name`. */
  readonly id: string;
  /**
   * Selects the files to read, given the paths in the repository and the text of its README.md.
   * @throws TaskError if there are no files for the request
   */
  readonly choose: (paths: readonly string[], readme: string) => readonly string[];
}

/**
 * Fetches the selected files that are not in the cache, and returns the local paths of all selected
 * files. If all files are cached, the network is not used, so that a resumed training run reads the
 * same rows. To get a newer revision, delete the folder.
 * @throws TaskError if the files are neither in the cache nor on the hub; CancelledError if the
 * signal aborts
 */
export async function fetchHubFiles(request: HubRequest): Promise<readonly string[]> {
  const cache = hubCache(cacheDirectoryOf(request), 'datasets', request.id);
  const cached = await findInCache(cache, request);
  if (cached) return cached;
  if (isSet(request.environment['HF_HUB_OFFLINE']))
    throw unreachable(request, cache, new TaskError('HF_HUB_OFFLINE is set'));
  try {
    const lock = { folder: cache.folder, name: 'dataset', what: request.id };
    return await oneAtATime(lock, request, () => download(cache, request));
  } catch (cause) {
    const cancelled = cause instanceof CancelledError && cause.reason !== 'timeout';
    if (cancelled || (cause instanceof TaskError && cause.code === 'TASKSET_FILES')) throw cause;
    throw unreachable(request, cache, cause);
  }
}

async function findInCache(
  cache: HubCache,
  { choose }: HubRequest,
): Promise<readonly string[] | undefined> {
  const revision = await cache.revision();
  if (revision === undefined) return undefined;
  const folder = cache.snapshot(revision);
  const listing = await cache.listing(revision);
  const readme = (await readText(join(folder, 'README.md'))) ?? '';
  try {
    const paths = choose(listing.paths, readme).map((path) => join(folder, path));
    await Promise.all(paths.map((path) => stat(path)));
    return paths;
  } catch (error) {
    if (listing.complete && error instanceof TaskError) throw error;
    // Some of the selected files have not been fetched yet.
    return undefined;
  }
}

async function download(cache: HubCache, request: HubRequest): Promise<readonly string[]> {
  const { id, environment, report } = request;
  const host = hubUrlOf(environment);
  const { revision, files } = await guardStalls({ ...request, what: host }, (guard) =>
    listDataset(cache, request, guard),
  );
  const place = cache.snapshot(revision);
  const token = hubTokenOf(environment);
  const fetchOne = async (path: string): Promise<string> => {
    const target = join(place, path);
    await fetchFile(files.get(path)!, target, { ...request, token, folder: cache.folder });
    return target;
  };
  report(`Fetching ${id} from ${host} to ${place}.`);
  const readme = files.has('README.md') ? await readText(await fetchOne('README.md')) : '';
  const listing = [...files.keys()];
  const chosen = request.choose(listing, readme ?? '');
  const bytes = chosen.reduce((sum, path) => sum + (files.get(path)?.size ?? 0), 0);
  report(`  ${byteSize(bytes)} in ${chosen.length} files`);
  const paths: string[] = [];
  for (const path of chosen) paths.push(await fetchOne(path));
  await cache.setListing(revision, listing);
  // The revision is written last. If it is present, the files are complete.
  await cache.setRevision(revision);
  return paths;
}

/**
 * Lists the files of a dataset at the revision in the cache. If none is cached, uses the newest
 * revision on the hub.
 */
async function listDataset(cache: HubCache, { id, environment }: HubRequest, guard: StallGuard) {
  // Loaded on first use, because most training runs read local files.
  const { datasetInfo } = await import('@huggingface/hub');
  const access = hubAccess(environment, guard);
  const revision =
    (await cache.revision()) ??
    (await datasetInfo({ ...access, name: id, additionalFields: ['sha'] })).sha;
  const repository = { type: 'dataset', name: id, revision } as const;
  return { revision, files: await listRemoteFiles(repository, environment, guard) };
}

function unreachable({ id, environment }: HubRequest, cache: HubCache, cause: unknown): TaskError {
  const status = (cause as { statusCode?: unknown }).statusCode;
  const isMissing = status === 401 || status === 403 || status === 404;
  const advice = isMissing
    ? `It does not exist, or it is private or gated: check the name, and set HF_TOKEN to a token that may read it (now ${hubTokenOf(environment) === undefined ? 'not set' : 'set'}).`
    : `Run once online, or fetch it elsewhere and give the folder as the path of the task set.`;
  return new TaskError(
    `${id} is not a local file or folder, it is not in the cache (${cache.folder}), and it could not be fetched from the Hugging Face hub: ${reasonOf(cause)}. ${advice}`,
    {
      code: 'TASKSET_UNREACHABLE',
      details: { id, cache: cache.folder, status },
      cause,
    },
  );
}
