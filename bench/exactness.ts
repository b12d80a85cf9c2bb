/**
 * `pnpm bench exactness [NAME...]`: recomputes everything that short trainings with the agents of all
 * frameworks record.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { canRun, frameworks, programs } from '../examples/react-calculator/src/frameworks.ts';
import {
  prepareShortRuns,
  sizes,
  type Exactness,
} from '../examples/react-calculator/src/short-runs.ts';

const names = process.argv.length > 2 ? process.argv.slice(2) : frameworks.filter(canRun);
const directory = await mkdtemp(path.join(tmpdir(), 'trinity-exactness-'));
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };

function row(
  name: string,
  { turns, later, continued, forks, tokens, largest, ok }: Exactness,
): string {
  const reasons = Object.entries(forks).map(([reason, count]) => `${reason} ${count}`);
  const cells = [
    name.padEnd(14),
    String(turns).padStart(6),
    `${continued}/${later}`.padStart(11),
    (reasons.join(', ') || 'none').padEnd(20),
    String(tokens).padStart(7),
    largest.toExponential(1).padStart(9),
    ok ? 'exact' : 'NOT EXACT',
  ];
  return cells.join('  ');
}

console.log(
  'framework        turns    continued  forks                 tokens  largest difference',
);
const all: Exactness[] = [];
try {
  const runs = await prepareShortRuns(directory, terminal);
  for (const framework of names) {
    await runs.train(framework, programs.has(framework) ? sizes.small : sizes.full, framework);
    const exactness = await runs.exactness(framework);
    all.push(exactness);
    console.log(row(framework, exactness));
  }
} finally {
  await rm(directory, { recursive: true, force: true });
}
const turns = all.reduce((sum, exactness) => sum + exactness.turns, 0);
console.log(
  `${turns} turns of ${all.length} frameworks, ${all.every(({ ok }) => ok) ? 'all exact' : 'NOT ALL EXACT'}`,
);
