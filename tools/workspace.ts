import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Fields of a `package.json` that our tools read. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly type?: string;
  readonly license?: string;
  readonly description?: string;
  readonly sideEffects?: unknown;
  readonly files?: readonly string[];
  readonly engines?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly publishConfig?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface WorkspacePackage {
  /** Path relative to the root of the repository, with forward slashes: `packages/core`. */
  readonly path: string;
  readonly manifest: Manifest;
}

const groups = ['packages', 'integrations', 'apps', 'examples'];

/** Every package of the repository, sorted by path. */
export function listPackages(root: string): readonly WorkspacePackage[] {
  return groups
    .filter((group) => existsSync(join(root, group)))
    .flatMap((group) => readdirSync(join(root, group)).map((name) => `${group}/${name}`))
    .filter((path) => existsSync(join(root, path, 'package.json')))
    .toSorted()
    .map((path) => ({
      path,
      manifest: JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as Manifest,
    }));
}
