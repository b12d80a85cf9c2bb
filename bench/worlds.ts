/**
 * `pnpm bench worlds [NAME...]`: opens 1,000 episodes of each built-in world at once, and prints the
 * memory of the process and the solver's steps per second over all episodes in turns, on one core.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type RawTask, silentLogger } from '../packages/core/src/index.ts';
import type { EnvironmentDefinition, Solver } from '../packages/environment/src/index.ts';
import { builtInEnvironments } from '../packages/worlds/src/index.ts';

const episodeCount = 1000;
const seconds = 2;
const names = process.argv.slice(2);
const { signal } = new AbortController();

setFlagsFromString('--expose_gc');
const collect = runInNewContext('gc') as () => void;
const megabytes = (): number => {
  collect();
  return process.memoryUsage.rss() / 2 ** 20;
};

console.log('world           tasks/s   MB with 1,000 open   steps/s');
for (const definition of builtInEnvironments.filter(
  ({ name }) => names.length === 0 || names.includes(name),
))
  await measure(definition);

async function measure(definition: EnvironmentDefinition): Promise<void> {
  const { rows, perSecond } = tasksOf(definition);
  const environment = await definition.open({}, { logger: silentLogger, signal });
  const begin = async (number: number) => {
    const start = { row: rows[number % rows.length] ?? {}, seed: number };
    const episode = await environment.reset(start, signal);
    const solver: Solver = definition.solver?.(start, {}) ?? (() => undefined);
    return { episode, solver, observation: episode.observation };
  };
  const open = await Promise.all(Array.from({ length: episodeCount }, (_, i) => begin(i)));
  const memory = megabytes();
  let steps = 0;
  let spentMs = 0;
  const until = performance.now() + seconds * 1000;
  for (let turn = 0; performance.now() < until; turn++) {
    const number = turn % episodeCount;
    const current = open[number];
    if (current === undefined) break;
    const action = current.solver(current.observation);
    const startedAt = performance.now();
    const result = action && (await current.episode.step(action, signal));
    spentMs += performance.now() - startedAt;
    if (result !== undefined) steps++;
    if (result !== undefined && !result.done) current.observation = result.observation;
    else {
      await current.episode.close();
      open[number] = await begin(turn);
    }
  }
  const rate = steps / (spentMs / 1000);
  await Promise.all(open.map(({ episode }) => episode.close()));
  await environment.close();
  console.log(
    [
      definition.name.padEnd(14),
      perSecond.toFixed(0).padStart(8),
      memory.toFixed(0).padStart(20),
      rate.toFixed(0).padStart(9),
    ].join(' '),
  );
}

function tasksOf(definition: EnvironmentDefinition): {
  readonly rows: readonly RawTask[];
  readonly perSecond: number;
} {
  const startedAt = performance.now();
  const rows = definition.tasks?.({ split: 'train', count: 50, seed: 1 }, {}) ?? [];
  return { rows, perSecond: rows.length / ((performance.now() - startedAt) / 1000) };
}
