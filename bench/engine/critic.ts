/**
 * Compares a critic's forward and backward pass, and the sampler's scores, with the trainer's
 * passes, in turns on the same rows.
 */
import { createOnnxCritic } from '../../packages/engine-onnx/src/critic.ts';
import { createOnnxEngine } from '../../packages/engine-onnx/src/engine.ts';
import { report, round, threads, time, withForeignShare } from './measure.ts';
import { benchModels, sizeOf, withModel } from './models.ts';

const [batch, length, rounds] = [64, 64, 3];

await withModel('small', async (modelPath) => {
  const engine = await createOnnxEngine({ modelPath, threads });
  const critic = await createOnnxCritic({ modelPath, threads });
  const rows = Array.from({ length: batch }, (_, b) => ({
    tokens: Int32Array.from(
      { length: length + 1 },
      (__, t) => (b * 31 + t * t) % benchModels.small.vocabSize,
    ),
    promptLength: 1,
    temperature: 1,
  }));
  const [pass, values] = [await engine.trainer.forward({ rows }), await critic.forward({ rows })];
  const work = {
    forward: () => engine.trainer.forward({ rows }),
    score: () => Promise.all(rows.map((row) => engine.sampler.score!(row))),
    values: () => critic.forward({ rows }),
    backward: () => engine.trainer.backward(pass, { logprobs: pass.logprobs }),
    criticBackward: () => critic.backward(values, pass.logprobs),
  };
  type Part = keyof typeof work;
  const best = Object.fromEntries(Object.keys(work).map((part) => [part, Infinity])) as Record<
    Part,
    number
  >;
  const row = await withForeignShare(async () => {
    for (let done = 0; done < rounds; done++) {
      for (const part of Object.keys(work) as Part[])
        best[part] = Math.min(best[part], (await time(work[part], 2)).best);
    }
    return {
      bench: 'critic',
      model: `${round(sizeOf('small') / 1e6, 1)}M, ${batch}x${length}`,
      threads,
      'forward ms': round(best.forward, 1),
      'as many scores ms': round(best.score, 1),
      'scores / forward': round(best.score / best.forward, 2),
      'values / forward': round(best.values / best.forward, 2),
      'critic / policy, backward': round(best.criticBackward / best.backward, 2),
    };
  });
  await Promise.all([engine.close(), critic.close()]);
  report(row);
});
