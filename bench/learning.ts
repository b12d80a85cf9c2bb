/**
 * `pnpm bench learning [--seeds 1,2,3] [--sync-interval N] [NAME...]`: trains with every preset from
 * the same half-trained models, with three seeds. Scores are shares of correct answers to 512 new
 * problems at temperature 1, before and after 60 steps. With a sync interval of 1 every importance
 * ratio is 1 and many losses are equal; otherwise experiences are up to N - 1 steps old.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { margin, presets, steps } from './learning/presets.ts';
import { prepareGround, runStage, scoreOf, type Ground } from './learning/task.ts';

const { values, positionals } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1,2,3' },
    'sync-interval': { type: 'string', default: '1' },
  },
  allowPositionals: true,
});
const seeds = values.seeds.split(',').map(Number);
const interval = Number(values['sync-interval']);
const names = positionals.length > 0 ? positionals : Object.keys(presets);
const unknown = names.filter((name) => !Object.hasOwn(presets, name));
if (unknown.length > 0)
  throw new RangeError(
    `Unknown preset ${unknown.join(', ')}. Known: ${Object.keys(presets).join(', ')}.`,
  );

const mean = (numbers: readonly number[]): number =>
  numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
const spread = (numbers: readonly number[]): number =>
  numbers.length < 2
    ? 0
    : Math.sqrt(
        numbers.reduce((sum, value) => sum + (value - mean(numbers)) ** 2, 0) /
          (numbers.length - 1),
      );
const cell = (numbers: readonly number[]): string =>
  `${mean(numbers).toFixed(3)} ± ${spread(numbers).toFixed(3)}`.padEnd(15);

const root = await mkdtemp(path.join(tmpdir(), 'trinity-learning-'));
let short = 0;
try {
  const grounds: Ground[] = [];
  for (const seed of seeds) grounds.push(await prepareGround(root, seed));
  const before = await each(grounds, (ground) => scoreOf(ground, 'before', 'model'));
  const teacher = await each(grounds, (ground) => scoreOf(ground, 'teacher-score', 'teacher'));
  console.log(
    `${steps} steps, sync interval ${interval}, seeds ${seeds.join(', ')}; the model before: ${cell(before).trim()}, the teacher: ${cell(teacher).trim()}`,
  );
  console.log(
    `preset                  after            gain             least   wall s   gains at least ${margin}`,
  );
  for (const name of names) {
    const startMs = performance.now();
    const after = await each(grounds, async (ground) => {
      const { checkpoint } = await runStage(ground, name, presets[name] ?? {}, interval);
      return scoreOf(ground, `${name}-score`, checkpoint);
    });
    const gains = after.map((score, i) => score - (before[i] ?? 0));
    const least = Math.min(...gains);
    // Every seed must gain the margin.
    const enough = least >= margin;
    if (!enough) short++;
    const seconds = ((performance.now() - startMs) / 1000 / seeds.length).toFixed(0);
    console.log(
      `${name.padEnd(23)} ${cell(after)}  ${cell(gains)}  ${least.toFixed(3)}   ${seconds.padEnd(8)} ${enough ? 'yes' : 'NO'}`,
    );
  }
} finally {
  await rm(root, { recursive: true, force: true });
}
process.exitCode = short > 0 ? 1 : 0;

/** Runs the trainings one after the other, so that times are meaningful. */
async function each(
  grounds: readonly Ground[],
  work: (ground: Ground) => Promise<number>,
): Promise<readonly number[]> {
  const results: number[] = [];
  for (const ground of grounds) results.push(await work(ground));
  return results;
}
