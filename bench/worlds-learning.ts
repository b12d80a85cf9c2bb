/**
 * `pnpm bench worlds-learning [--seeds 1,2,3] [--keep FOLDER] [--progress] [NAME...]`: warms a tiny
 * model up on conversations of a world's solver, then trains it in the world. Prints the mean reward of
 * evaluation tasks, which no training run sees, before and after, and the wall-clock and processor
 * minutes of warm-up and training.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type Cost, type Interval, learnWorld } from './worlds-learning/learn.ts';
import { grounds } from './worlds-learning/grounds.ts';

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    keep: { type: 'string' },
    progress: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const names = positionals.length > 0 ? positionals : Object.keys(grounds);
const root = values.keep ?? (await mkdtemp(path.join(tmpdir(), 'trinity-worlds-')));
const write = (text: string): void => void (values.progress && process.stderr.write(text));
try {
  for (const name of names) {
    const ground = grounds[name];
    if (ground === undefined)
      throw new RangeError(`Unknown world ${name}. Known: ${Object.keys(grounds).join(', ')}.`);
    for (const seed of values.seeds.split(',').map(Number)) {
      const directory = path.join(root, `${name.replaceAll(' ', '-')}-${seed}`);
      const learned = await learnWorld({ directory, ground, seed, write });
      const { before, after, warmup, training, weights } = learned;
      console.log(
        `${name.padEnd(24)} seed ${seed}  ${shown(before)} -> ${shown(after)}  warm-up ${cost(warmup)}, training ${cost(training)}, ${weights} weights`,
      );
    }
  }
} finally {
  if (values.keep === undefined) await rm(root, { recursive: true, force: true });
}

function shown({ mean, low, high }: Interval): string {
  return `${mean.toFixed(3)} [${low.toFixed(3)}, ${high.toFixed(3)}]`;
}

function cost({ minutes, cpuMinutes }: Cost): string {
  return `${minutes.toFixed(1)} min (CPU ${cpuMinutes.toFixed(1)})`;
}
