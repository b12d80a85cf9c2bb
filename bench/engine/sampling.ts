/**
 * Sampling speed of the 0.8M model compared with the matrix products of the same steps, and the time
 * for which the main thread was blocked.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

import { createOnnxEngine } from '../../packages/engine-onnx/src/engine.ts';
import { completeConfig } from '../../packages/engine-onnx/src/storage/new-model.ts';
import { capacityFor } from '../../packages/engine-onnx/src/sample/capacity.ts';
import { planSamplerThreads } from '../../packages/engine-onnx/src/sample/sampler-threads.ts';
import { decodeMatmuls } from './matmul.ts';
import { peakMemoryGb, report, round, summary, threads, withForeignShare } from './measure.ts';
import { benchModels, sizeOf, withModel } from './models.ts';

const [from, to] = [32, 255];
const rounds = 6;

/**
 * Milliseconds for the matrix products of all steps of a round: all rows with all threads, or split as
 * the engine does, whichever is faster.
 */
async function matmulOnly(rows: number): Promise<number> {
  const config = completeConfig(benchModels.small);
  const shared = planSamplerThreads(config, threads);
  const ways = [
    { rows, threads },
    { rows: Math.ceil(rows / shared.samplers), threads: shared.threads },
  ];
  const steps = Map.groupBy(
    Array.from({ length: to - from }, (_, i) => capacityFor(from + i)),
    (capacity) => capacity,
  );
  const totals = ways.map(() => 0);
  for (const [capacity, { length }] of steps) {
    for (const [i, way] of ways.entries())
      totals[i]! += length * (await decodeMatmuls(config, way.rows, capacity, way.threads)).median;
  }
  return Math.min(...totals);
}

await withModel('small', async (modelPath) => {
  for (const rows of [1, 8, 64, 256]) {
    const engine = await createOnnxEngine({ modelPath, threads });
    const row = await withForeignShare(async () => {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      const times: number[] = [];
      for (let round = 0; round <= rounds; round++) {
        const prompts = Array.from({ length: rows }, (_, i) =>
          Int32Array.from(
            { length: from },
            (__, t) => (i * 7 + t * 3) % benchModels.small.vocabSize,
          ),
        );
        if (round === 1) delay.enable();
        const start = performance.now();
        await Promise.all(
          prompts.map((prompt, i) =>
            engine.sampler.sample(prompt, { maxTokens: to - from, seed: round * rows + i }),
          ),
        );
        if (round > 0) times.push(performance.now() - start);
      }
      delay.disable();
      const { median, best } = summary(times);
      const matmuls = await matmulOnly(rows);
      const perSecond = (ms: number): number => round((rows * (to - from) * 1000) / ms, 0);
      return {
        bench: 'sampling',
        model: `${round(sizeOf('small') / 1e6, 1)}M, ${from}->${to}`,
        threads,
        batch: rows,
        tokensPerSecond: perSecond(median),
        best: perSecond(best),
        'ms/step': round(median / (to - from), 2),
        'matmul share %': round((100 * matmuls) / median, 0),
        'main thread blocked, ms': round(delay.max / 1e6, 1),
      };
    });
    await engine.close();
    report({ ...row, peakMemoryGb: peakMemoryGb() });
  }
});
