/** Packs the published packages as `npm publish` would upload them. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { listPackages, type WorkspacePackage } from '../workspace.ts';

export interface PackedPackage extends WorkspacePackage {
  /** Path of the tarball. */
  readonly file: string;
}

/** Packs every package that is not private into `folder`. Needs a build, and pnpm on PATH. */
export function packAll(root: string, folder: string): readonly PackedPackage[] {
  const published = listPackages(root).filter(({ manifest }) => manifest.private !== true);
  const filters = published.flatMap(({ manifest }) => ['--filter', manifest.name]);
  execFileSync('pnpm', ['--recursive', ...filters, 'pack', '--pack-destination', folder], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
  const files = new Set(readdirSync(folder));
  return published.map((pkg) => {
    const name = pkg.manifest.name.replace('@', '').replace('/', '-');
    const file = `${name}-${pkg.manifest.version}.tgz`;
    if (!files.has(file)) throw new Error(`pnpm pack wrote no ${file}`);
    return { ...pkg, file: join(folder, file) };
  });
}

export const readTarball = ({ file }: PackedPackage): Uint8Array<ArrayBuffer> =>
  new Uint8Array(readFileSync(file));
