/** `pnpm bench algorithm [PRESET...]`: advantages + loss + gradient of a million tokens, beside the time their bytes take in memory. */
import type { Algorithm } from '@trinity-rft/core';
import { algorithmPresets, createAlgorithm, type AlgorithmPreset } from '../src/index.js';
import { createBatch, type Batch } from './batch.js';

const target = 50;
const shape = { tasks: 128, runs: 8, length: 1024 };
const size = shape.tasks * shape.runs * shape.length;

interface Timing {
  readonly median: number;
  readonly best: number;
}

/** Medians, since other processes may have part of the machine. Milliseconds. */
function time(work: () => void, least = 15, seconds = 1): Timing {
  for (let i = 0; i < 3; i++) work();
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < least || performance.now() < end) {
    const start = performance.now();
    work();
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)]!, best: sorted[0]! };
}

/** Bytes per millisecond, of reading and writing 64 MiB together. */
function bandwidth(): number {
  const [from, to] = [new Float32Array(2 ** 24), new Float32Array(2 ** 24)];
  return (2 * from.byteLength) / time(() => to.set(from)).best;
}

/** What any implementation has to read and write: the arrays that the algorithm declares, and its gradients. */
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
    ...(lossAggNorm !== undefined && { lossAggNorm: lossAggNorm === 'max_response_tokens' ? shape.length : lossAggNorm }),
  });
}

function measure(algorithm: Algorithm, batch: Batch): { readonly advantages: Timing; readonly loss: Timing } {
  const none = { median: 0, best: 0 };
  const { advantage, batchAdvantage, loss } = algorithm;
  return {
    advantages: advantage
      ? time(() => advantage(batch.experiences))
      : batchAdvantage
        ? time(() => batchAdvantage(batch.advantageInput))
        : none,
    loss: time(() => loss(batch.lossInput)),
  };
}

const wanted = process.argv.slice(2);
const batch = createBatch(shape);
const bytesPerMs = bandwidth();
const line = (cells: readonly unknown[]): string => `| ${cells.join(' | ')} |\n`;
process.stdout.write(
  `${size} tokens in ${shape.tasks * shape.runs} rows, one thread; medians in ms; memory copies ${(bytesPerMs / 1e6).toFixed(1)} GB/s\n\n`,
);
process.stdout.write(
  line(['preset', 'advantages', 'loss + gradient', 'together', 'best', 'bound of memory', 'times the bound', `<= ${target} ms`]),
);
process.stdout.write(line(Array.from({ length: 8 }, () => '---')));
for (const [name, preset] of Object.entries(algorithmPresets) as [string, AlgorithmPreset][]) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const algorithm = toAlgorithm(preset);
  const { advantages, loss } = measure(algorithm, batch);
  const [together, best, bound] = [advantages.median + loss.median, advantages.best + loss.best, bytes(algorithm) / bytesPerMs];
  const cells = [advantages.median, loss.median, together, best, bound, together / bound].map((value) => value.toFixed(1));
  process.stdout.write(line([name, ...cells, together <= target ? 'yes' : 'no']));
}
