/**
 * Compares the backward pass and step of an adapter with those of all weights, in turns on the same
 * rows.
 */
import { createOnnxEngine } from '../../packages/engine-onnx/src/engine.ts';
import { report, round, threads, time, withForeignShare } from './measure.ts';
import { benchModels, sizeOf, withModel, type BenchModel } from './models.ts';

const cases: readonly {
  readonly model: BenchModel;
  readonly batch: number;
  readonly length: number;
}[] = [
  { model: 'small', batch: 64, length: 64 },
  { model: 'medium', batch: 16, length: 128 },
];
const rank = 8;
const rounds = 6;

for (const { model, batch, length } of cases) {
  await withModel(model, async (modelPath) => {
    const engines = {
      all: await createOnnxEngine({ modelPath, threads }),
      lora: await createOnnxEngine({ modelPath, threads, lora: { rank, alpha: rank } }),
    };
    const rows = Array.from({ length: batch }, (_, b) => ({
      tokens: Int32Array.from(
        { length: length + 1 },
        (__, t) => (b * 31 + t * t) % benchModels[model].vocabSize,
      ),
      promptLength: 1,
      temperature: 1,
    }));
    const measured = {
      all: { backward: [] as number[], step: [] as number[] },
      lora: { backward: [] as number[], step: [] as number[] },
    };
    const row = await withForeignShare(async () => {
      for (let round = 0; round < rounds; round++) {
        for (const name of ['all', 'lora'] as const) {
          const { trainer } = engines[name];
          const pass = await trainer.forward({ rows });
          const gradients = { logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length) };
          measured[name].backward.push(
            (await time(() => trainer.backward(pass, gradients), 0, 2)).best,
          );
          measured[name].step.push(
            (await time(() => trainer.step({ learningRate: 1e-4 }), 0, 2)).best,
          );
        }
      }
      const best = (numbers: readonly number[]): number => round(Math.min(...numbers), 1);
      const { all, lora } = measured;
      return {
        bench: 'lora',
        model: `${round(sizeOf(model) / 1e6, 1)}M, ${batch}x${length}`,
        rank,
        threads,
        'all: backward ms': best(all.backward),
        'lora: backward ms': best(lora.backward),
        'lora / all': round(Math.min(...lora.backward) / Math.min(...all.backward), 2),
        'all: step ms': best(all.step),
        'lora: step ms': best(lora.step),
      };
    });
    for (const engine of Object.values(engines)) await engine.close();
    report(row);
  });
}
