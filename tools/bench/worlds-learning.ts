/**
 * Warms a tiny model up on some conversations of a world's solver, then trains it in the world:
 * `pnpm bench worlds-learning [--seeds 1,2,3] [NAME...]`. Prints the mean reward of evaluation tasks,
 * which no training run sees, before and after, with the minutes that the training took.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { learnWorld } from './worlds-learning/learn.ts';
import { grounds } from './worlds-learning/grounds.ts';

const { values, positionals } = parseArgs({
  options: { seeds: { type: 'string', default: '1,2,3' } },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(grounds);
const root = await mkdtemp(path.join(tmpdir(), 'trinity-worlds-'));
try {
  for (const name of names) {
    const ground = grounds[name];
    if (ground === undefined)
      throw new RangeError(`Unknown world ${name}. Known: ${Object.keys(grounds).join(', ')}.`);
    for (const seed of values.seeds.split(',').map(Number)) {
      const { before, after, minutes, weights } = await learnWorld(root, name, ground, seed);
      console.log(
        `${name.padEnd(24)} seed ${seed}  ${shown(before)} -> ${shown(after)}  ${minutes.toFixed(1)} min, ${weights} weights`,
      );
    }
  }
} finally {
  await rm(root, { recursive: true, force: true });
}

function shown({ mean, low, high }: { mean: number; low: number; high: number }): string {
  return `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}
