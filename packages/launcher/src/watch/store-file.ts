/**
 * `store.json`: where the processes of a run meet, when that is not the `run.db` in its folder. It holds
 * no password.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isSecretName, replaceFileSync } from '@trinity-rft/core/support';

export interface StorePlace {
  /** URL of a server without its password, or a path. */
  readonly url: string;
  /** Name of the run in it. */
  readonly run: string;
}

/** Below the folder of the run. */
const storeFileName = 'store.json';
/** The database of a run whose processes are on one machine. */
export const ownStoreName = 'run.db';

/** Lets `trinity status` and `trinity why` find the store by the folder of the run. */
export function writeStorePlace(jobDirectory: string, { url, run }: StorePlace): void {
  const file = path.join(jobDirectory, storeFileName);
  if (url === path.join(jobDirectory, ownStoreName)) {
    rmSync(file, { force: true });
    return;
  }
  const place: StorePlace = { url: withoutPassword(url), run };
  replaceFileSync(file, `${JSON.stringify(place)}\n`);
}

/** Undefined: the run has its store in its folder, or none. */
export function readStorePlace(jobDirectory: string): StorePlace | undefined {
  try {
    const text = readFileSync(path.join(jobDirectory, storeFileName), 'utf8');
    const { url, run } = JSON.parse(text) as Partial<StorePlace>;
    return url === undefined || run === undefined ? undefined : { url, run };
  } catch {
    return undefined;
  }
}

export function withoutPassword(text: string): string {
  if (!text.includes('://')) return text;
  const url = new URL(text);
  url.password = '';
  for (const name of [...url.searchParams.keys()])
    if (isSecretName(name) || /password/i.test(name)) url.searchParams.delete(name);
  return url.href;
}
