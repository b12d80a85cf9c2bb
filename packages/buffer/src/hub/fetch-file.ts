/**
 * Fetches one file from the hub. Resumes a download that was interrupted, even if another process
 * started it. The file is renamed to its final name only if its size and digest are correct.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { ConfigError, CancelledError } from '@trinity-rft/core';
import { exists, guardedFetch } from './hub-access.js';
import { oneAtATime } from './one-at-a-time.js';
import { guardStalls, type DownloadOptions, type StallGuard } from './stall-guard.js';

interface Digest {
  /** Kind of digest. `git` is the id of a git blob, used for files that are not in LFS. */
  readonly kind: 'sha256' | 'git';
  readonly hex: string;
}

export interface RemoteFile {
  readonly path: string;
  readonly url: string;
  readonly size: number;
  readonly digest: Digest;
}

/** Options of a download. The limit `stallMs` applies to each attempt separately. */
export interface FetchOptions extends DownloadOptions {
  readonly token: string | undefined;
  /** Cache folder of the dataset or model. */
  readonly folder: string;
}

type OnProgress = (bytes: number) => void;

/**
 * Number of failed attempts in a row without progress after which the download fails. An attempt
 * that made progress before it failed restarts the count at one.
 */
const mostAttempts = 3;

/**
 * Error for a response from the hub with an error status. Has the field `statusCode`, like the
 * errors of the hub's client library.
 */
class StatusError extends Error {
  readonly statusCode: number;

  constructor(statusCode: number, path: string) {
    super(`the hub answered ${statusCode} to the request for ${path}`);
    this.statusCode = statusCode;
  }
}

/**
 * Fetches a file, unless it already exists.
 * @throws ConfigError for a wrong digest, CancelledError for a stall or an abort, and network
 * errors
 */
export async function fetchFile(
  file: RemoteFile,
  target: string,
  options: FetchOptions,
): Promise<void> {
  if (await exists(target)) return;
  const lock = { folder: options.folder, name: file.digest.hex, what: file.path };
  await oneAtATime(lock, options, () => fetchAlone(file, target, options));
}

async function fetchAlone(file: RemoteFile, target: string, options: FetchOptions): Promise<void> {
  if (await exists(target)) return;
  await mkdir(dirname(target), { recursive: true });
  // The name contains the digest, so that parts of different contents are not mixed.
  const part = `${target}.${file.digest.hex.slice(0, 16)}.incomplete`;
  await fetchPart(file, part, options);
  if ((await digestOf(part, file)) !== file.digest.hex) {
    await rm(part);
    throw new ConfigError(
      `${file.url} arrived with another digest (${file.digest.kind}) than the hub states, ${file.digest.hex}, and was deleted. Try again; if it happens again, ask whoever runs the hub, mirror or proxy.`,
      { code: 'HUB_DIGEST' },
    );
  }
  await rename(part, target);
}

async function fetchPart(file: RemoteFile, part: string, options: FetchOptions): Promise<void> {
  const { clock, signal } = options;
  const onProgress = progressLines(file, options);
  let failures = 0;
  for (;;) {
    const before = await sizeOf(part);
    if (before === file.size) return;
    try {
      await guardStalls({ ...options, what: new URL(file.url).host }, (guard) =>
        fetchRest(file, part, guard, { ...options, onProgress }),
      );
    } catch (error) {
      failures = (await sizeOf(part)) > before ? 1 : failures + 1;
      if (signal?.aborted === true || !isPassing(error) || failures >= mostAttempts) throw error;
      await clock.sleep(500 * 2 ** failures, signal);
    }
  }
}

/** Returns a function that reports progress: one line every five seconds, and one at the end. */
function progressLines(file: RemoteFile, { clock, report }: FetchOptions): OnProgress {
  const everyMs = 5000;
  let last = clock.now();
  return (bytes) => {
    if (bytes !== file.size && clock.now() - last < everyMs) return;
    last = clock.now();
    const percent = Math.floor((100 * bytes) / file.size);
    report(`  ${file.path}: ${byteSize(bytes)} of ${byteSize(file.size)} (${percent} %)`);
  };
}

/** Formats a size in powers of 1000, as the hub does: `12.3 MB`. */
export function byteSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const value = bytes / 1000 ** power;
  return `${Number(value.toPrecision(3))} ${units[power]}`;
}

/** Returns true if the error is temporary, so that another attempt may succeed. */
function isPassing(error: unknown): boolean {
  if (error instanceof StatusError) return error.statusCode >= 500 || error.statusCode === 429;
  if (error instanceof CancelledError) return error.reason === 'timeout';
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined || !['ENOSPC', 'EDQUOT', 'EACCES', 'EROFS', 'EIO'].includes(code);
}

async function fetchRest(
  { path, url, size }: RemoteFile,
  part: string,
  guard: StallGuard,
  { token, onProgress }: FetchOptions & { readonly onProgress: OnProgress },
): Promise<void> {
  const known = await sizeOf(part);
  const had = known < size ? Math.max(known, 0) : 0;
  const headers = new Headers();
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
  if (had > 0) headers.set('range', `bytes=${had}-`);
  const response = await guardedFetch(guard)(url, { headers });
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new StatusError(response.status, path);
  }
  const continues =
    response.status === 206 &&
    response.headers.get('content-range')?.startsWith(`bytes ${had}-`) === true;
  let bytes = continues ? had : 0;
  // Data is written without a stream, because an interrupted stream would lose its buffered data.
  await using handle = await open(part, continues ? 'a' : 'w');
  for await (const chunk of response.body as ReadableStream<Uint8Array>) {
    await handle.appendFile(chunk);
    bytes += chunk.byteLength;
    guard.progress();
    onProgress(bytes);
  }
  if (bytes !== size) throw new Error(`${path} arrived with ${bytes} of ${size} bytes`);
}

async function digestOf(path: string, { size, digest }: RemoteFile): Promise<string> {
  const hash = createHash(digest.kind === 'git' ? 'sha1' : 'sha256');
  if (digest.kind === 'git') hash.update(`blob ${size}\0`);
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** Returns the size of a file in bytes, or -1 if the file does not exist. */
const sizeOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => -1,
  );
