// Runs a measurement: `pnpm bench engine [ARGUMENT...]` runs `packages/*/bench/engine.ts`; without
// a name it lists what there is.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { listPackages } from './workspace.ts';

const root = join(import.meta.dirname, '..');
const [name, ...args] = process.argv.slice(2);
const folders = listPackages(root)
  .map(({ path }) => join(root, path, 'bench'))
  .filter((folder) => existsSync(folder));
const found = folders.map((folder) => join(folder, `${name}.ts`)).find((file) => existsSync(file));
if (name === undefined || found === undefined) {
  const known = folders.flatMap((folder) =>
    readdirSync(folder).flatMap((file) => (file.endsWith('.ts') ? [basename(file, '.ts')] : [])),
  );
  console.error(`usage: pnpm bench NAME, with one of: ${known.join(', ')}`);
  process.exitCode = 2;
} else {
  process.exitCode =
    spawnSync(process.execPath, [...process.execArgv, found, ...args], { stdio: 'inherit' })
      .status ?? 1;
}
