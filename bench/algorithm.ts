/**
 * `pnpm bench algorithm [PRESET...]`: CPU time of advantages, loss and gradient for a million
 * tokens, with every preset.
 */
import type { Algorithm } from '../packages/core/src/internal.ts';
import { createAlgorithm, type AlgorithmPreset } from '../packages/algorithm/src/index.ts';
import { algorithmPresets } from '../packages/algorithm/src/presets/table.ts';
import { createBatch, type Batch } from './algorithm/batch.ts';

/** Maximum CPU time per million tokens, in ms. */
const most = 150;
const shape = { tasks: 128, runs: 8, length: 1024 };
const size = shape.tasks * shape.runs * shape.length;
const perMillion = 1e6 / size;

/** Times in milliseconds per million tokens. */
interface Timing {
  /** Mean CPU time of this thread. */
  readonly cpu: number;
  /** Median wall-clock time, which includes the time of other processes. */
  readonly wall: number;
}

function time(work: () => void, { least = 9, seconds = 0.5 } = {}): Timing {
  for (let i = 0; i < 4; i++) work();
  const wall: number[] = [];
  const before = process.threadCpuUsage();
  const end = performance.now() + seconds * 1000;
  while (wall.length < least || performance.now() < end) {
    const start = performance.now();
    work();
    wall.push(performance.now() - start);
  }
  // The CPU clock of a thread may only tick every few milliseconds, so it is read once for all runs.
  const { user, system } = process.threadCpuUsage(before);
  wall.sort((a, b) => a - b);
  return {
    cpu: ((user + system) / 1000 / wall.length) * perMillion,
    wall: wall[wall.length >> 1]! * perMillion,
  };
}

/** Times a sum of e^d over the batch, as a reference for comparison with other machines. */
function timeExponentials({ lossInput: { currentLogprobs, oldLogprobs } }: Batch): Timing {
  let sum = 0;
  const timing = time(() => {
    for (const [t, x] of currentLogprobs.entries()) sum += Math.exp(x - oldLogprobs[t]!);
  });
  if (!Number.isFinite(sum)) throw new RangeError(`The sum of all ratios is ${sum}.`);
  return timing;
}

function timePreset(preset: AlgorithmPreset, batch: Batch): readonly [Timing, Timing] {
  const { lossAggNorm: norm } = preset;
  const lossAggNorm = norm === 'max_response_tokens' ? shape.length : norm;
  const { advantage, batchAdvantage, loss }: Algorithm = createAlgorithm({
    ...preset,
    lossAggNorm,
  });
  const advantages = time(() => {
    if (advantage) advantage(batch.experiences);
    else batchAdvantage?.(batch.advantageInput);
  });
  return [advantages, time(() => loss(batch.lossInput))];
}

const wanted = process.argv.slice(2);
const batch = createBatch(shape);
const print = (cells: readonly unknown[]): void =>
  void process.stdout.write(`| ${cells.join(' | ')} |\n`);

process.stdout.write(
  `${size} tokens in ${shape.tasks * shape.runs} rows, one thread, in ms per million tokens. ` +
    `As many exponentials alone: ${timeExponentials(batch).cpu.toFixed(1)} ms of CPU time.\n\n`,
);
const columns = ['preset', 'advantages', 'loss + gradient', 'together', 'wall clock', `<= ${most}`];
print(columns);
print(columns.map(() => '---'));
for (const [name, preset] of Object.entries<AlgorithmPreset>(algorithmPresets)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const [advantages, loss] = timePreset(preset, batch);
  const together = advantages.cpu + loss.cpu;
  const figures = [advantages.cpu, loss.cpu, together, advantages.wall + loss.wall];
  print([name, ...figures.map((value) => value.toFixed(1)), together <= most ? 'yes' : 'no']);
  if (together > most) process.exitCode = 1;
}
