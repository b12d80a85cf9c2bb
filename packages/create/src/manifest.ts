/** The package.json of a new project. */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { packageFolder } from './templates.js';

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly [field: string]: unknown;
}

/** What a part of a template adds to the package.json. A package.json of its own would make it a package within this one. */
export const partFile = 'manifest.json';

/** Merges what the parts of the template add, with our packages in the version of this one. */
export async function writeManifest({
  sources,
  target,
  name,
}: {
  readonly sources: readonly string[];
  readonly target: string;
  readonly name: string;
}): Promise<void> {
  const parts = sources
    .map((source) => path.join(source, partFile))
    .filter((file) => existsSync(file))
    .map((file) => readManifest(file));
  const merged = parts.reduce(merge, { name });
  const { version = '' } = readManifest(path.join(packageFolder, 'package.json'));
  const text = JSON.stringify(merged, undefined, 2).replaceAll('workspace:*', `^${version}`);
  await writeFile(path.join(target, 'package.json'), `${text}\n`);
}

const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, 'utf8')) as Manifest;

/** The later one wins; the entries of objects such as `dependencies` and `scripts` are joined. */
function merge(first: Manifest, second: Manifest): Manifest {
  const entries = Object.entries(second).map(([field, value]) => {
    const before = first[field];
    return [field, isObject(before) && isObject(value) ? { ...before, ...value } : value];
  });
  return { ...first, ...Object.fromEntries(entries) };
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws ConfigError when npm would not take the folder's name as that of a package */
export function packageNameOf(folder: string): string {
  const name = path
    .basename(folder)
    .toLowerCase()
    .replaceAll(/[\s_]+/g, '-');
  if (/^[a-z0-9][a-z0-9.-]{0,200}$/.test(name) && name !== 'node-modules') return name;
  throw new ConfigError(
    `${JSON.stringify(path.basename(folder))} cannot be the name of a package. Choose a folder name of letters, digits and dashes.`,
  );
}
