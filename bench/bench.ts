// Runs a measurement: `pnpm bench engine [ARGUMENT...]` runs `bench/engine.ts`; without a name it lists
// the measurements.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const folder = import.meta.dirname;
const [name, ...args] = process.argv.slice(2);
const file = join(folder, `${name}.ts`);
if (name === undefined || !existsSync(file)) {
  const known = readdirSync(folder).filter((each) => each.endsWith('.ts') && each !== 'bench.ts');
  const names = known.map((each) => basename(each, '.ts')).join(', ');
  console.error(`usage: pnpm bench NAME, with one of: ${names}`);
  process.exitCode = 2;
} else {
  const { status } = spawnSync(process.execPath, [...process.execArgv, file, ...args], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
