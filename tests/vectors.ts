// `pnpm vectors FILE [KEY]`: runs golden vectors of that file against our functions; a line per id,
// then the sums.
import { readFileSync } from 'node:fs';
import { casesOf } from './vectors/index.ts';
import type { VectorFile } from './vectors/suite.ts';

const [path, only] = process.argv.slice(2);
if (path === undefined) {
  process.stderr.write(
    'Name a file: pnpm vectors FILE [KEY]. Its format is that of tests/fixtures/trinity-vectors.json.\n',
  );
  process.exit(2);
}
const file = JSON.parse(readFileSync(path, 'utf8')) as VectorFile;
const totals = { passed: 0, failed: 0, skipped: 0 };
const say = (line: string): void => void process.stdout.write(`${line}\n`);

for (const { key, cases, skipped } of casesOf(file)) {
  if (only !== undefined && key !== only) continue;
  if (skipped !== undefined) {
    say(`not run  ${key}: it ${skipped}`);
    totals.skipped++;
  }
  for (const { id, run } of cases) {
    try {
      await run();
      say(`passed   ${id}`);
      totals.passed++;
    } catch (error) {
      say(`failed   ${id}: ${(error as Error).message}`);
      totals.failed++;
    }
  }
}
say(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} keys not run`);
process.exit(totals.failed > 0 || totals.passed === 0 ? 1 : 0);
