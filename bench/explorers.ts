/**
 * `pnpm bench explorers [one] [sqlite] [postgres] [--counts 1,2,4]`: the example `react-calculator`
 * with one process, and with one trainer and several explorers over each store. Measures the reward,
 * rollouts per second from the first explore step to the last train step, the staleness of experiences,
 * and the delay from publishing weights to their use. Exits with 1 if the reward stays below 0.9, or an
 * experience is older than `max_staleness` allows.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { startPostgres } from '../tests/support/src/postgres/start-postgres.ts';
import { quantiles } from './store/quantiles.ts';
import { prepareWarmModel, runExample, type ExampleRun, type Measured } from './explorers/run.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { counts: { type: 'string', default: '1,2,4' } },
});
const counts = values.counts.split(',').map(Number);
const wants = (name: string): boolean => positionals.length === 0 || positionals.includes(name);
const leastReward = 0.9;

const mean = (numbers: readonly number[]): number =>
  numbers.reduce((sum, value) => sum + value, 0) / numbers.length;

function row(what: string, found: Measured, load: number): string {
  const { rewards, fresh, runsPerSecond, seconds, behind, maxStaleness, deliveries } = found;
  const cells = [
    what,
    runsPerSecond.toFixed(0),
    seconds.toFixed(0),
    `${mean(rewards.slice(0, 5)).toFixed(3)} to ${mean(rewards.slice(-5)).toFixed(3)}`,
    `${fresh.at(0)?.toFixed(3)} to ${fresh.at(-1)?.toFixed(3)}`,
    behind === undefined ? '' : `${behind} of ${maxStaleness}`,
    deliveries.length === 0 ? '' : quantiles(deliveries, 0),
    load.toFixed(1),
  ];
  return `| ${cells.join(' | ')} |`;
}

async function measure(what: string, run: ExampleRun): Promise<void> {
  const [load = 0] = loadavg();
  const found = await runExample(run);
  const isStale = (found.behind ?? 0) > found.maxStaleness;
  if (mean(found.rewards.slice(-5)) < leastReward || isStale) process.exitCode = 1;
  console.log(row(what, found, load));
}

async function measureAll(root: string, database: string, postgresUrl?: string): Promise<void> {
  for (const explorers of counts) {
    const name = `${database}-${explorers}`;
    await measure(`${database}, 1 + ${explorers}`, { root, name, explorers, postgresUrl });
  }
}

const root = mkdtempSync(path.join(tmpdir(), 'trinity-explorers-'));
try {
  await prepareWarmModel(root);
  console.log(
    '| Processes | rollouts/s | whole run, s | reward, first and last 5 steps | fresh problems | explore steps behind | weights published to in use | load before |',
  );
  console.log(`|${' --- |'.repeat(8)}`);
  if (wants('one')) await measure('one', { root, name: 'one', explorers: 0 });
  if (wants('sqlite')) await measureAll(root, 'SQLite');
  if (wants('postgres')) {
    const server = await startPostgres({ settings: { fsync: 'on', full_page_writes: 'on' } });
    try {
      await measureAll(root, 'PostgreSQL', server.url());
    } finally {
      await server.stop();
    }
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
