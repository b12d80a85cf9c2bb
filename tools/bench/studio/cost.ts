/**
 * What an open studio costs a training beside it: short quickstarts in pairs, one alone and one with
 * the page of its curves open in a browser, in turns of who is first.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import path from 'node:path';
import type { Look } from '../../../apps/studio/test/look.ts';
import { fromSources, startServer } from './start-server.ts';

interface CostOptions {
  readonly root: string;
  /** Folder of the built page. */
  readonly page: string;
  readonly minutes: number;
  readonly open: (url: string) => Promise<Look>;
  readonly report: (what: string, figure: string) => void;
}

interface Took {
  /** Of all processors, of the process that trains. */
  readonly cpu: number;
  readonly wall: number;
}

const steps = { warmup: 20, grpo: 20 };
const quickstart = path.resolve(import.meta.dirname, '../../../examples/quickstart');
const kinds = ['alone', 'beside'] as const;

/** As many pairs as fit into the time; the first, which fills the caches of files, does not count. */
export async function measureCost(options: CostOptions): Promise<void> {
  const { report, minutes } = options;
  const end = performance.now() + minutes * 60_000;
  const pairs: Record<(typeof kinds)[number], Took>[] = [];
  for (let i = 0, longest = 0; performance.now() + longest < end; i++) {
    const begun = performance.now();
    const took = { alone: nothing, beside: nothing };
    for (const kind of i % 2 === 0 ? kinds : kinds.toReversed())
      took[kind] = await training(path.join(options.root, `${kind}-${i}`), kind, options);
    longest = Math.max(longest, performance.now() - begun);
    if (i > 0) pairs.push(took);
  }
  if (pairs.length === 0) throw new Error(`No pair of trainings ended within ${minutes} minutes.`);
  for (const [of, unit] of [
    ['cpu', 'processor seconds'],
    ['wall', 'seconds'],
  ] as const) {
    for (const kind of kinds)
      report(`training ${kind}, ${unit}`, pairs.map((pair) => pair[kind][of].toFixed(1)).join(' '));
    const more = median(pairs.map(({ alone, beside }) => beside[of] / alone[of])) - 1;
    report(`more ${unit}, median of ${pairs.length} pairs`, `${(100 * more).toFixed(1)} %`);
  }
  report(
    'load of the machine',
    loadavg()
      .map((load) => load.toFixed(1))
      .join(' '),
  );
}

const nothing: Took = { cpu: Number.NaN, wall: Number.NaN };

const median = (all: readonly number[]): number => {
  const sorted = all.toSorted((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1] ?? 0, sorted[sorted.length >> 1] ?? 0];
  return (low + high) / 2;
};

async function training(
  folder: string,
  kind: (typeof kinds)[number],
  { page, open }: CostOptions,
): Promise<Took> {
  mkdirSync(folder);
  if (kind === 'alone') return train(folder);
  const server = await startServer(folder, page);
  const look = await open(`${server.url}&page=curves&run=runs%2FTrinity-RFT%2Fquickstart%2Fgrpo`);
  try {
    return await train(folder);
  } finally {
    await look.page.close();
    await server.close();
  }
}

async function train(cwd: string): Promise<Took> {
  writeShortened(path.join(quickstart, 'quickstart.yaml'), path.join(cwd, 'quickstart.yaml'));
  const begun = performance.now();
  const before = cpuSecondsOfEnded();
  const program = path.join(quickstart, 'src/index.ts');
  const child = spawn(process.execPath, [...fromSources, program], { cwd, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`The training in ${cwd} ended with ${code}.`);
  return { cpu: cpuSecondsOfEnded() - before, wall: (performance.now() - begun) / 1000 };
}

/** Of processes that this one has waited for; the server and the browser live longer than a training. */
function cpuSecondsOfEnded(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

function writeShortened(from: string, to: string): void {
  const lengths = Object.values(steps);
  const text = readFileSync(from, 'utf8');
  const shortened = text.replaceAll(/total_steps: \d+/g, () => `total_steps: ${lengths.shift()}`);
  if (lengths.length > 0)
    throw new Error(`${from} has fewer stages with total_steps than expected.`);
  writeFileSync(to, shortened);
}
