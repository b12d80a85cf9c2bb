/** Versions of Node with their package managers, from the registry. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface Toolchain {
  readonly node: string;
  /** Folder to put first in PATH. */
  readonly path: string;
}

/** Pinned Node versions, each with the npm that it contains. */
const pins = {
  '18': { node: '18.20.8', npm: '10.8.2' },
  '20': { node: '20.20.2', npm: '10.8.2' },
  '22.13': { node: '22.13.1', npm: '10.9.2' },
  '24': { node: '24.21.0', npm: '11.19.1' },
} as const;

const pnpm = '11.28.11';

export type NodeVersion = keyof typeof pins;
/** The oldest Node that our packages support, and the newest. */
export const nodeVersions: readonly NodeVersion[] = ['22.13', '24'];
/** Unsupported old versions, for which the command prints instructions. */
export const oldNodeVersions: readonly NodeVersion[] = ['18', '20'];

/** Fetches a Node with npm and pnpm into `cache`, unless it is already there. */
export function fetchToolchain(version: NodeVersion, cache: string): Toolchain {
  const { node, npm } = pins[version];
  const system = process.platform === 'win32' ? 'win' : process.platform;
  const program = `node-${system}-${process.arch}`;
  const folder = join(cache, `node-${node}-npm-${npm}-pnpm-${pnpm}`);
  const modules = join(folder, 'node_modules');
  if (!existsSync(join(modules, '.bin', 'pnpm'))) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const specs = [`${program}@${node}`, `npm@${npm}`, `pnpm@${pnpm}`];
    const args = ['install', '--prefix', folder, '--ignore-scripts', '--loglevel=error', ...specs];
    execFileSync('npm', args, {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
  }
  return { node, path: [join(modules, program, 'bin'), join(modules, '.bin')].join(delimiter) };
}
