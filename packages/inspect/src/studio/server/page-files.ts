/**
 * Reads the files of the built page once, so that paths in requests are never used to read from the
 * disk.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Text shown instead of the page if the page was not built. */
const notBuilt = 'The page is not built. Run "pnpm build", and start the command again.\n';

/** Returns the files of the page by their path in the URL, such as `/index.html`. */
export async function readPage(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  if (!existsSync(folder))
    return new Map([['/index.html', { bytes: Buffer.from(notBuilt), type: 'text/plain' }]]);
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const read = files.map(async ({ parentPath, name }): Promise<[string, PageFile]> => {
    const file = path.join(parentPath, name);
    const below = path.relative(folder, file).split(path.sep).join('/');
    const bytes = new Uint8Array(await readFile(file));
    return [`/${below}`, { bytes, type: types[path.extname(name)] ?? 'application/octet-stream' }];
  });
  return new Map(await Promise.all(read));
}
