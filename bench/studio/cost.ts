/**
 * Cost of an open studio for a training on the same machine. One training alternates between stretches
 * with and without the page of its curves in a browser. Differences of neighbouring stretches cancel
 * slow changes of the load and the model.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import path from 'node:path';
import { openUserWindow } from '../../apps/studio/test/user-window.ts';
import { fromSources, startServer } from './start-server.ts';

interface CostOptions {
  readonly root: string;
  /** Folder of the built page. */
  readonly page: string;
  readonly minutes: number;
  readonly chromium: string;
  readonly report: (what: string, figure: string) => void;
}

interface Took {
  /** Processor seconds of the training process. */
  readonly cpu: number;
  readonly wall: number;
}

type Pair = Record<(typeof kinds)[number], Took>;

const kinds = ['alone', 'beside'] as const;
/** Train steps before the first stretch, until the code is compiled. */
const warmUpSteps = 20;
const stretchSteps = 30;
/** Pause after the page was opened or closed, in ms, because the cost of opening and closing occurs only once. */
const settleMs = 3000;
const pollMs = 10;
const quickstart = path.resolve(import.meta.dirname, '../../examples/quickstart');
const job = 'runs/Trinity-RFT/quickstart/grpo';

/** Measures as many pairs of stretches as fit into the time. */
export async function measureCost({ root, page, minutes, chromium, report }: CostOptions) {
  const end = performance.now() + minutes * 60_000;
  const folder = path.join(root, 'cost');
  const training = startTraining(folder);
  const server = await startServer(folder, page);
  const pairs: Pair[] = [];
  const stretch = async (kind: (typeof kinds)[number]): Promise<Took> => {
    const window =
      kind === 'beside'
        ? await openUserWindow(
            chromium,
            `${server.url}&page=metrics&run=${encodeURIComponent(job)}`,
          )
        : undefined;
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const took = await training.steps(stretchSteps);
    await window?.expect('.chart canvas');
    await window?.close();
    return took;
  };
  try {
    await training.steps(warmUpSteps);
    for (let i = 0, longest = 0; performance.now() + longest < end; i++) {
      const begun = performance.now();
      const took: Partial<Pair> = {};
      for (const kind of i % 2 === 0 ? kinds : kinds.toReversed()) took[kind] = await stretch(kind);
      longest = Math.max(longest, performance.now() - begun);
      pairs.push(took as Pair);
    }
  } finally {
    await training.end();
    await server.close();
  }
  if (pairs.length === 0) throw new Error(`No pair of stretches ended within ${minutes} minutes.`);
  reportPairs(pairs, report);
}

function reportPairs(pairs: readonly Pair[], report: CostOptions['report']): void {
  for (const [of, unit] of [
    ['cpu', 'processor seconds'],
    ['wall', 'seconds'],
  ] as const) {
    for (const kind of kinds) {
      const each = median(pairs.map((pair) => pair[kind][of] / stretchSteps));
      report(`a step ${kind}, ${unit}`, each.toFixed(3));
    }
    const more = pairs.map(({ alone, beside }) => 100 * (beside[of] / alone[of] - 1));
    const [low, high] = [0.25, 0.75].map((share) => quantile(more, share).toFixed(1));
    report(
      `more ${unit}: median of ${pairs.length} pairs, quartiles`,
      `${median(more).toFixed(1)} %, ${low} to ${high} %`,
    );
  }
  const load = loadavg().map((each) => each.toFixed(1));
  report('load of the machine', load.join(' '));
}

const median = (all: readonly number[]): number => quantile(all, 0.5);

function quantile(all: readonly number[], share: number): number {
  const sorted = all.toSorted((a, b) => a - b);
  const at = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(at)] ?? 0, sorted[Math.ceil(at)] ?? 0];
  return low + (high - low) * (at - Math.floor(at));
}

interface Training {
  /** Waits until the next train step has ended, and returns the cost of the following `count` steps. */
  steps(count: number): Promise<Took>;
  end(): Promise<void>;
}

function startTraining(cwd: string): Training {
  mkdirSync(cwd);
  writeEndless(path.join(quickstart, 'quickstart.yaml'), path.join(cwd, 'quickstart.yaml'));
  const program = path.join(quickstart, 'src/index.ts');
  const child = spawn(process.execPath, [...fromSources, program], { cwd, stdio: 'ignore' });
  const nextStep = async (): Promise<void> => {
    const before = trainSteps(cwd);
    while (trainSteps(cwd) === before) {
      if (child.exitCode !== null) throw new Error(`The training ended with ${child.exitCode}.`);
      await new Promise((resolve) => setTimeout(resolve, pollMs));
    }
  };
  return {
    steps: async (count) => {
      await nextStep();
      const [cpu, wall] = [cpuSeconds(child), performance.now() / 1000];
      for (let i = 0; i < count; i++) await nextStep();
      return { cpu: cpuSeconds(child) - cpu, wall: performance.now() / 1000 - wall };
    },
    end: async () => {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Writes a configuration that runs until the measurement ends, and saves nothing meanwhile. */
function writeEndless(from: string, to: string): void {
  const lengths = [30, 1_000_000];
  const text = readFileSync(from, 'utf8')
    .replaceAll(/total_steps: \d+/g, () => `total_steps: ${lengths.shift()}`)
    .replaceAll(/save_interval: \d+/g, 'save_interval: 1000000');
  if (lengths.length > 0) throw new Error(`${from} has other stages than expected.`);
  writeFileSync(to, text);
}

function trainSteps(cwd: string): number {
  try {
    const text = readFileSync(path.join(cwd, job, 'monitor/metrics.jsonl'), 'utf8');
    return text.split('{"role":"trainer"').length - 1;
  } catch {
    return 0;
  }
}

function cpuSeconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
