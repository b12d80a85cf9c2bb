/** Runs the example `react-calculator` in separate processes and measures it. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { writeChanged } from '../../examples/react-calculator/src/configuration.ts';
import { prepare } from '../../examples/react-calculator/src/prepare.ts';
import { run } from '../../packages/launcher/src/index.ts';
import { readCurve } from '../../packages/monitor/src/index.ts';
import { watchDeliveries } from './deliveries.ts';
import { readStore } from '../store/read-store.ts';

const seed = 42;
const terminal = { write: () => undefined, isTTY: false, columns: () => 80 };

/** Prepares data and a model, and runs the supervised warm-up of the example in one process. */
export async function prepareWarmModel(root: string): Promise<void> {
  await prepare(path.join(root, 'runs/data'), seed);
  const configPath = writeChanged({
    file: 'react-calculator.yaml',
    directory: root,
    // Name of the folder from which `several-explorers.yaml` takes its model.
    name: 'react-calculator',
    change: (config) => config.deleteIn(['stages', 1]),
  });
  await run({ configPath, cwd: root, terminal });
}

export interface ExampleRun {
  readonly root: string;
  readonly name: string;
  /** Number of explorer processes; 0: one process does everything. */
  readonly explorers: number;
  readonly postgresUrl?: string;
}

export interface Measured {
  /** Mean reward of each explore step. */
  readonly rewards: readonly number[];
  /** Share of new problems with the right answer, before and after training. */
  readonly fresh: readonly number[];
  readonly runsPerSecond: number;
  readonly seconds: number;
  /** Maximum staleness of an experience, in explore steps that its weights had not been trained on. */
  readonly behind: number | undefined;
  readonly maxStaleness: number;
  /** Delays from publishing weights to sampling with them, in milliseconds. */
  readonly deliveries: readonly number[];
}

export async function runExample(asked: ExampleRun): Promise<Measured> {
  const { root, name, explorers, postgresUrl } = asked;
  const url = postgresUrl ?? `sqlite:///${path.join(root, `${name}.db`)}`;
  let runsPerStep = 0;
  let maxStaleness = 0;
  const file = writeChanged({
    file: 'several-explorers.yaml',
    directory: root,
    name,
    change: (config) => {
      config.setIn(['cluster', 'explorers'], explorers);
      if (explorers > 0)
        config.setIn(['buffer', 'trainer_input'], {
          experience_buffer: { storage_type: 'queue', path: url },
        });
      const number = (...key: string[]): number => Number(config.getIn(key));
      runsPerStep = number('buffer', 'batch_size') * number('algorithm', 'repeat_times');
      maxStaleness = number('synchronizer', 'max_staleness');
    },
  });
  const ended = new AbortController();
  const watching =
    explorers > 0 ? watchDeliveries(url, `Trinity-RFT/${name}`, ended.signal) : Promise.resolve([]);
  const { seconds, exploringSeconds } = await trinityRun(root, file).finally(() => ended.abort());
  const metrics = path.join(root, 'runs/Trinity-RFT', name, 'monitor/metrics.jsonl');
  const curve = (metric: string) => readCurve(metrics, { role: 'explorer', metric });
  const rewards = await curve('rollout/reward/mean');
  return {
    rewards,
    fresh: await curve('eval/fresh/reward/mean@1'),
    runsPerSecond: (rewards.length * runsPerStep) / exploringSeconds,
    seconds,
    behind: explorers > 0 ? await stepsBehind(url, `Trinity-RFT/${name}`) : undefined,
    maxStaleness,
    deliveries: await watching,
  };
}

const fromSources = [
  '--conditions=@trinity-rft/source',
  `--import=${new URL('../../tools/register-source.mjs', import.meta.url).href}`,
];
const cli = fileURLToPath(new URL('../../apps/runner/src/cli.ts', import.meta.url));

/** Runs the example. Exploration is timed from the end of the first evaluation to the last train step. */
async function trinityRun(cwd: string, file: string) {
  const child = spawn(process.execPath, [...fromSources, cli, 'run', file], {
    cwd,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const begun = performance.now();
  const [times, lines] = [{ first: begun, last: begun }, [] as string[]];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line.startsWith('eval after step 0 ')) times.first = performance.now();
    if (line.startsWith('step ')) times.last = performance.now();
  }
  const exitCode = await exit;
  if (exitCode !== 0)
    throw new RangeError(`trinity run ${file} ended with ${exitCode}:\n${lines.join('\n')}`);
  const exploringSeconds = (times.last - times.first) / 1000;
  return { seconds: (performance.now() - begun) / 1000, exploringSeconds };
}

const stepsBehind = (url: string, run: string): Promise<number | undefined> =>
  readStore(url, async (db) => {
    const rows = await db
      .selectFrom('experience')
      .innerJoin('run', 'run.id', 'experience.run')
      .innerJoin('batch', (join) =>
        join.onRef('batch.id', '=', 'experience.batch').onRef('batch.run', '=', 'experience.run'),
      )
      .innerJoin('weights', (join) =>
        join
          .onRef('weights.version', '=', 'experience.policy_version')
          .onRef('weights.run', '=', 'experience.run'),
      )
      .where('run.name', '=', run)
      .select(['batch.step', 'weights.explored_up_to'])
      .distinct()
      .execute();
    return Math.max(...rows.map((row) => row.step - 1 - row.explored_up_to));
  });
