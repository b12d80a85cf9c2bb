/**
 * Reads and writes `store.json`, the path or URL (without password) of the store that processes
 * share. The file is not written if the store is `run.db` in the training run's folder.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isSecretName, replaceFileSync } from '@trinity-rft/core/support';

export interface StorePlace {
  /** Path of the database file, or URL of the database server without its password. */
  readonly url: string;
  /** Name under which the store keeps the training run. */
  readonly run: string;
}

const storeFileName = 'store.json';
/** Name of the database of a training run whose processes are all on one machine. */
const ownStoreName = 'run.db';

/**
 * Writes the path or URL of the store, so that `trinity status` and `trinity why` can find the
 * store by the training run's folder.
 */
export function writeStorePlace(jobDirectory: string, { url, run }: StorePlace): void {
  const file = path.join(jobDirectory, storeFileName);
  if (url === path.join(jobDirectory, ownStoreName)) {
    rmSync(file, { force: true });
    return;
  }
  const place: StorePlace = { url: withoutPassword(url), run };
  replaceFileSync(file, `${JSON.stringify(place)}\n`);
}

/**
 * Returns the location of the training run's store. If the store is the database in the training
 * run's folder, which may not exist, the result has no `run`.
 */
export function readStorePlace(
  jobDirectory: string,
): Pick<StorePlace, 'url'> & Partial<StorePlace> {
  const own = { url: path.join(jobDirectory, ownStoreName) };
  try {
    const text = readFileSync(path.join(jobDirectory, storeFileName), 'utf8');
    const { url, run } = JSON.parse(text) as Partial<StorePlace>;
    return url === undefined || run === undefined ? own : { url, run };
  } catch {
    return own;
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
