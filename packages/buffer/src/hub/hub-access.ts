/** Accesses the Hugging Face hub and its local cache, for data sets and models. */
import { stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { cacheFolder, hubTokenOf, hubUrlOf } from '@trinity-rft/core/support';
import type { StallGuard } from './stall-guard.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface CacheOptions {
  /**
   * Cache folder of the hub.
   * @default the folder that `huggingface_hub` uses: HF_HUB_CACHE, HF_HOME/hub, or huggingface/hub
   * in XDG_CACHE_HOME or ~/.cache
   */
  readonly cacheDirectory?: string | undefined;
  /**
   * Environment variables that are read: HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE and those that
   * determine the cache folder. The token is only used in request headers.
   */
  readonly environment: Environment;
}

/** Returns the options that all calls of the hub's client share. */
export function hubAccess(environment: Environment, guard: StallGuard) {
  return {
    hubUrl: hubUrlOf(environment),
    fetch: guardedFetch(guard),
    accessToken: hubTokenOf(environment),
  };
}

export function guardedFetch(guard: StallGuard): typeof fetch {
  return async (input, init) => {
    guard.progress();
    const response = await fetch(input, { ...init, signal: guard.signal });
    guard.progress();
    return response;
  };
}

export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
export const isSet = (value: string | undefined): boolean =>
  value !== undefined && !['', '0', 'false'].includes(value.toLowerCase());
/**
 * Returns true if a path stays inside the snapshot's folder. The paths that the hub lists must be
 * checked, because they could lead outside.
 */
export const isInside = (path: string): boolean =>
  !path.startsWith('/') && !path.split(/[/\\]/).includes('..');

export function cacheDirectoryOf({ cacheDirectory, environment }: CacheOptions): string {
  if (cacheDirectory !== undefined) return resolve(cacheDirectory);
  const home = environment['HF_HOME'] || cacheFolder(environment, 'huggingface');
  return environment['HF_HUB_CACHE'] || join(home, 'hub');
}

/**
 * Returns the reason for a failed fetch: the message of the error's cause, such as
 * `getaddrinfo ENOTFOUND huggingface.co`.
 */
export function reasonOf(cause: unknown): string {
  const inner = cause instanceof Error ? cause.cause : undefined;
  const text =
    inner instanceof Error && inner.message
      ? inner.message
      : cause instanceof Error
        ? cause.message
        : String(cause);
  return (text.split('\n')[0] ?? '').replace(/\.+$/, '');
}
