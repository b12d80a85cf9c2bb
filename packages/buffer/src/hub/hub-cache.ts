/**
 * Reads and writes the folders of one dataset or model in the Hugging Face cache. The layout is
 * that of the Python package `huggingface_hub`, so that both can use the same files.
 */
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { replaceFile } from '@trinity-rft/core/support';

export interface HubCache {
  /** Folder of the dataset or model. */
  readonly folder: string;
  /** Returns the folder that contains the files of a revision. */
  snapshot(revision: string): string;
  /** Returns the revision that was fetched most recently, or undefined if none was. */
  revision(): Promise<string | undefined>;
  setRevision(revision: string): Promise<void>;
  /**
   * Returns the paths of the files of a revision. `complete` is true if the list is that of the
   * hub, which may include files that were not fetched.
   */
  listing(
    revision: string,
  ): Promise<{ readonly paths: readonly string[]; readonly complete: boolean }>;
  setListing(revision: string, paths: readonly string[]): Promise<void>;
}

export type HubKind = 'datasets' | 'models';

export const hubFolder = (cacheDirectory: string, kind: HubKind, id: string): string =>
  join(cacheDirectory, [kind, ...id.split('/')].join('--'));

export function hubCache(cacheDirectory: string, kind: HubKind, id: string): HubCache {
  const folder = hubFolder(cacheDirectory, kind, id);
  const ref = join(folder, 'refs', 'main');
  const snapshot = (revision: string): string => join(folder, 'snapshots', revision);
  // Each fetch only gets the files of one split. The full listing is stored, so that the choice of
  // files does not depend on the files that are in the cache.
  const listingFile = (revision: string): string => join(folder, 'listings', `${revision}.json`);
  return {
    folder,
    snapshot,
    revision: async () => (await readText(ref))?.trim() || undefined,
    setRevision: (revision) => writeText(ref, revision),
    listing: async (revision) => {
      const known = await readText(listingFile(revision));
      if (known === undefined)
        return { paths: await listFolder(snapshot(revision)), complete: false };
      return { paths: JSON.parse(known) as readonly string[], complete: true };
    },
    setListing: (revision, paths) => writeText(listingFile(revision), JSON.stringify(paths)),
  };
}

/**
 * Returns the paths of all files below a folder, relative to the folder and with `/`. Returns an
 * empty list if the folder does not exist.
 */
export async function listFolder(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  return entries
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    )
    .toSorted();
}

/** Returns the text of a file, or undefined if the file does not exist. */
export async function readText(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
}

/** Writes a file, and creates its folder if the folder does not exist. */
export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, text);
}
