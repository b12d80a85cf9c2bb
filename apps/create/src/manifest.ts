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
 * Name of the file with the package.json fields of a template's part. It is not called
 * package.json, which would make the part a package of its own.
 */
export const partFile = 'manifest.json';

/**
 * Returns the merged package.json fields of a template's parts. The versions of Trinity's packages
 * are set to the version of this package.
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
 * Reads a file with package.json fields.
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

/** Adds fields and entries to a package.json. Existing values, the indentation and line ends are kept. */
export async function editManifest(file: string, added: Manifest): Promise<void> {
  const text = readFileSync(file, 'utf8');
  const indent = /^[ \t]+(?=")/m.exec(text)?.[0] ?? 2;
  const own = readManifest(file);
  const merged = merge(added, own);
  // The fields of the file keep their order; new fields follow.
  const fields = [...new Set([...Object.keys(own), ...Object.keys(added)])];
  const ordered = Object.fromEntries(fields.map((field) => [field, merged[field]]));
  const edited = `${JSON.stringify(ordered, undefined, indent)}\n`;
  await writeFile(file, text.includes('\r\n') ? edited.replaceAll('\n', '\r\n') : edited);
}

/**
 * Merges two manifests and the entries of objects in them, such as `dependencies` and `scripts`.
 * Where both have a value, that of the second is used.
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
 * Converts a folder name to a package name: lower case, with dashes instead of spaces and
 * underscores.
 * @throws ConfigError if npm would not accept the package name
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
