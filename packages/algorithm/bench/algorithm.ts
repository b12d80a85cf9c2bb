/**
 * `pnpm bench algorithm [PRESET...]`: advantages + loss + gradient of a million tokens, beside the
 * time their bytes take in memory.
 */
import type { Algorithm } from '@trinity-rft/core';
import { algorithmPresets, createAlgorithm, type AlgorithmPreset } from '../src/index.js';
import { createBatch, type Batch } from './batch.js';

const target = 50;
const shape = { tasks: 128, runs: 8, length: 1024 };
const size = shape.tasks * shape.runs * shape.length;

/** Milliseconds. */
interface Timing {
  /** Median, since other processes may have part of the machine. */
  readonly wall: number;
  /** Least: what it takes when others leave the machine alone for once. */
  readonly best: number;
  /**
   * Mean of what this thread had of a processor: what others run counts through caches and shared
   * cores only.
   */
  readonly cpu: number;
}

function time(work: () => void, least = 9, seconds = 0.5): Timing {
  for (let i = 0; i < 4; i++) work();
  const wall: number[] = [];
  const before = process.threadCpuUsage();
  const end = performance.now() + seconds * 1000;
  while (wall.length < least || performance.now() < end) {
    const start = performance.now();
    work();
    wall.push(performance.now() - start);
  }
  // The clock of a thread may tick every few milliseconds, so it is read once for all runs.
  const { user, system } = process.threadCpuUsage(before);
  wall.sort((a, b) => a - b);
  return {
    wall: wall[wall.length >> 1]!,
    best: wall[0]!,
    cpu: (user + system) / 1000 / wall.length,
  };
}

/** Bytes per millisecond, of reading and writing 64 MiB together. */
function bandwidth(): number {
  const [from, to] = [new Float32Array(2 ** 24), new Float32Array(2 ** 24)];
  return (2 * from.byteLength) / time(() => to.set(from)).cpu;
}

/** A sum of e^d over the batch and nothing else: says how fast the machine is just now. */
function exponentials({ lossInput: { currentLogprobs, oldLogprobs } }: Batch): Timing {
  const sums = new Float64Array(size / shape.length);
  return time(() => {
    for (let row = 0; row < sums.length; row++) {
      let sum = 0;
      for (let t = row * shape.length; t < (row + 1) * shape.length; t++)
        sum += Math.exp(currentLogprobs[t]! - oldLogprobs[t]!);
      sums[row] = sum;
    }
  });
}

/**
 * What any implementation has to read and write: the arrays that the algorithm declares, and its
 * gradients.
 */
function bytes({ needs, batchAdvantage }: Algorithm): number {
  const floats =
    2 + // current log-probabilities, gradient
    (needs.rollouts ? 2 : 0) + // sampling log-probabilities, advantages
    (needs.rollouts ? 1 : 0) + // writing advantages
    (batchAdvantage ? 2 : 0) + // rewards, returns
    (needs.referenceLogprobs ? 1 : 0) +
    (needs.teacherLogprobs ? 1 : 0) +
    (needs.valueHead ? 1 : 0) +
    (needs.entropy === 'none' ? 0 : 1) +
    (needs.entropy === 'gradient' ? 1 : 0);
  return size * (4 * floats + 1);
}

function toAlgorithm({ lossAggNorm, ...preset }: AlgorithmPreset): Algorithm {
  return createAlgorithm({
    ...preset,
    ...(lossAggNorm !== undefined && {
      lossAggNorm: lossAggNorm === 'max_response_tokens' ? shape.length : lossAggNorm,
    }),
  });
}

function measure(
  { advantage, batchAdvantage, loss }: Algorithm,
  batch: Batch,
): { readonly advantages: Timing; readonly loss: Timing } {
  const score = advantage
    ? () => advantage(batch.experiences)
    : batchAdvantage && (() => batchAdvantage(batch.advantageInput));
  return {
    advantages: score ? time(score) : { wall: 0, best: 0, cpu: 0 },
    loss: time(() => loss(batch.lossInput)),
  };
}

const wanted = process.argv.slice(2);
const batch = createBatch(shape);
const bytesPerMs = bandwidth();
const line = (cells: readonly unknown[]): string => `| ${cells.join(' | ')} |\n`;
const rows = shape.tasks * shape.runs;
const alone = exponentials(batch);
process.stdout.write(
  `${size} tokens in ${rows} rows, one thread. Milliseconds: CPU time (mean), wall clock (median, best).\n`,
);
process.stdout.write(
  `Copying memory: ${(bytesPerMs / 1e6).toFixed(1)} GB/s; as many exponentials alone: ${alone.cpu.toFixed(1)} ms, best ${alone.best.toFixed(1)}.\n\n`,
);
const columns = [
  'preset',
  'advantages',
  'loss + gradient',
  'together',
  'wall clock',
  'best',
  'bound of memory',
  'times the bound',
  `<= ${target} ms`,
];
process.stdout.write(line(columns) + line(columns.map(() => '---')));
for (const [name, preset] of Object.entries(algorithmPresets) as [string, AlgorithmPreset][]) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const algorithm = toAlgorithm(preset);
  const { advantages, loss } = measure(algorithm, batch);
  const [together, bound] = [advantages.cpu + loss.cpu, bytes(algorithm) / bytesPerMs];
  const cells = [
    advantages.cpu,
    loss.cpu,
    together,
    advantages.wall + loss.wall,
    advantages.best + loss.best,
    bound,
    together / bound,
  ].map((value) => value.toFixed(1));
  process.stdout.write(line([name, ...cells, together <= target ? 'yes' : 'no']));
}
