/**
 * `store.json`: address, without password, of the store that processes share; not written for the
 * `run.db` in the run's folder.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { isSecretName, replaceFileSync } from '@trinity-rft/core/support';

export interface StorePlace {
  /** Path, or URL of a server without its password. */
  readonly url: string;
  /** Name of the run in the store. */
  readonly run: string;
}

/** Name of the file in the folder of the run. */
const storeFileName = 'store.json';
/** The database of a run whose processes are on one machine. */
const ownStoreName = 'run.db';

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

/**
 * Place of the run's store; without `run` for the database in the run's folder, which may not
 * exist.
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
