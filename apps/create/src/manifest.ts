/** Reads and edits the package.json of a new or existing project. */
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@trinity-rft/core';
import { packageFolder } from './templates.js';

export interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly [field: string]: unknown;
}

/**
 * File with the package.json fields of a template's part. A file called package.json would make the
 * part a package of its own.
 */
export const partFile = 'manifest.json';

/**
 * Returns the merged package.json fields of a template's parts. Trinity's packages get this
 * package's version.
 */
export function partsOf(parts: readonly string[]): Manifest {
  const manifests = parts
    .map((part) => path.join(packageFolder, 'templates', part, partFile))
    .filter((file) => existsSync(file))
    .map((file) => readManifest(file));
  const { version = '' } = readManifest(path.join(packageFolder, 'package.json'));
  const merged = JSON.stringify(manifests.reduce(merge, {}));
  return JSON.parse(merged.replaceAll('workspace:*', `^${version}`)) as Manifest;
}

/**
 * Reads the package.json fields that a file contains.
 * @throws ConfigError if the file does not contain a JSON object
 */
export function readManifest(file: string): Manifest {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    if (isObject(value)) return value as Manifest;
  } catch (cause) {
    throw new ConfigError(`${file} is not JSON: ${(cause as Error).message}`, { cause });
  }
  throw new ConfigError(`${file} holds no JSON object. Expected the package.json of a project.`);
}

/** Adds fields and entries to a package.json. Keeps existing values and the indentation. */
export async function editManifest(file: string, added: Manifest): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? 2;
  const own = readManifest(file);
  const merged = merge(added, own);
  // The fields of the file keep their order; new fields follow.
  const fields = [...new Set([...Object.keys(own), ...Object.keys(added)])];
  const ordered = Object.fromEntries(fields.map((field) => [field, merged[field]]));
  await writeFile(file, `${JSON.stringify(ordered, undefined, indent)}\n`);
}

/**
 * Merges two manifests, including the entries of objects such as `dependencies` and `scripts`. The
 * second manifest takes precedence.
 */
function merge(first: Manifest, second: Manifest): Manifest {
  const entries = Object.entries(second).map(([field, value]) => {
    const before = first[field];
    return [field, isObject(before) && isObject(value) ? { ...before, ...value } : value];
  });
  return { ...first, ...Object.fromEntries(entries) };
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Converts the name of a folder to a package name: lower case, with dashes for spaces and
 * underscores.
 * @throws ConfigError if npm would not accept the result
 */
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
