/**
 * `pnpm bench chaos [FAULTS] [--seed S] [--drivers a,b]`: trains in a world behind each driver, once
 * without faults and once with faults in the messages between driver and world (500 over all drivers).
 * Counts the outcomes, and compares tokens and rewards of every trained experience, and the weights,
 * with those of the run without faults. Exits with 1 if an experience has another reward, weights
 * differ, or a run does not end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom } from '../packages/core/src/index.ts';
import { drivers } from '../packages/environment/test/chaos/drivers.ts';
import { faultKinds, type FaultKind } from '../packages/environment/test/chaos/faults.ts';
import { compare, recordOf, trainIn } from './chaos/run.ts';
import { writeDigitsData } from './digits/run.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    drivers: { type: 'string', default: Object.keys(drivers).join(',') },
  },
});
const names = values.drivers.split(',');
const wanted = Math.ceil(Number(positionals[0] ?? 500) / names.length);
/**
 * Factor by which faults are more probable than on average necessary, so that all of them are
 * injected before the run ends.
 */
const surplus = 1.3;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const root = mkdtempSync(path.join(tmpdir(), 'trinity-chaos-'));
const random = createRandom(Number(values.seed));
const cells: string[][] = [];

/** Injects the same number of faults of each kind, until the requested number is reached. */
function createInjector(messages: number) {
  const share = (surplus * wanted) / messages;
  const counts = new Map<FaultKind, number>(faultKinds.map((kind) => [kind, 0]));
  let left = wanted;
  const inject = (possible: readonly FaultKind[]): FaultKind | undefined => {
    if (left === 0 || random.next() > share) return undefined;
    const [rarest] = possible.toSorted((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
    if (rarest === undefined) return undefined;
    left--;
    counts.set(rarest, (counts.get(rarest) ?? 0) + 1);
    return rarest;
  };
  return { inject, counts, injected: () => wanted - left };
}

try {
  say(`seed ${values.seed}, ${wanted} faults for each driver`);
  await writeDigitsData(root, {
    config: { hiddenSize: 32, layers: 2, heads: 2, kvHeads: 1, headDim: 16, maxPositions: 128 },
  });
  for (const driver of names) {
    let messages = 0;
    const count = (): undefined => {
      messages++;
    };
    const peace = { inject: count, delayMs: 0, lateMs: 0, deadlineMs: 60_000, startMs: 60_000 };
    await trainIn(root, `${driver}-peace`, driver, peace);
    const { inject, counts, injected } = createInjector(messages);
    const begun = performance.now();
    const chaos = { inject, delayMs: 50, lateMs: 1500, deadlineMs: 1000, startMs: 8000 };
    await trainIn(root, `${driver}-chaos`, driver, chaos);
    const seconds = (performance.now() - begun) / 1000;
    const found = recordOf(root, `${driver}-chaos`);
    const { falseRewards, sameWeights } = compare(found, recordOf(root, `${driver}-peace`));
    if (falseRewards > 0 || !sameWeights || injected() < wanted) process.exitCode = 1;
    cells.push([
      driver,
      ...faultKinds.map((kind) => String(counts.get(kind))),
      String(injected()),
      String(found.failures),
      String(found.experiences.size),
      String(falseRewards),
      sameWeights ? 'equal' : 'DIFFERENT',
      seconds.toFixed(0),
    ]);
    say(cells.at(-1)?.join(' | ') ?? '');
  }
  const head = [
    'driver',
    ...faultKinds,
    'faults',
    'episodes broken',
    'trained',
    'false rewards',
    'weights',
    's',
  ];
  say(`\n| ${head.join(' | ')} |\n| ${head.map(() => '---').join(' | ')} |`);
  for (const row of cells) say(`| ${row.join(' | ')} |`);
} finally {
  rmSync(root, { recursive: true, force: true });
}
