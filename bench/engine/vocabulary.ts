/**
 * Time and memory of a training step and of sampling with a vocabulary of realistic size: 151,936
 * tokens.
 */
import { createOnnxEngine } from '../../packages/engine-onnx/src/engine.ts';
import { peakMemoryGb, report, round, threads, time, withForeignShare } from './measure.ts';
import { benchModels, sizeOf, withModel } from './models.ts';

const [batch, length] = [8, 512];
const { vocabSize } = benchModels.vocabulary;

await withModel('vocabulary', async (modelPath) => {
  const engine = await createOnnxEngine({ modelPath, threads });
  const rows = Array.from({ length: batch }, (_, b) => ({
    tokens: Int32Array.from(
      { length: length + 1 },
      (__, t) => (b * 7919 + t * 104_729) % vocabSize,
    ),
    promptLength: 1,
    temperature: 1,
  }));
  const row = await withForeignShare(async () => {
    const pass = await engine.trainer.forward({ rows });
    const gradients = { logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length) };
    const both = await time(() => engine.trainer.backward(pass, gradients), 5, 2);
    const step = await time(() => engine.trainer.step({ learningRate: 1e-4 }), 2, 2);
    const trained = peakMemoryGb();
    const start = performance.now();
    const sampled = await Promise.all(
      Array.from({ length: 8 }, (_, seed) =>
        engine.sampler.sample(Int32Array.of(1, 2, 3), { maxTokens: 32, seed }),
      ),
    );
    return {
      bench: 'vocabulary',
      model: `${round(sizeOf('vocabulary') / 1e6, 0)}M, V=${vocabSize}, ${batch}x${length}`,
      threads,
      'forward+backward ms': round(both.median, 0),
      'step ms': round(step.median, 0),
      trainedTokensPerSecond: round((batch * length * 1000) / both.median, 0),
      sampledTokensPerSecond: round((sampled.length * 32 * 1000) / (performance.now() - start), 0),
      trainingPeakMemoryGb: trained,
    };
  });
  await engine.close();
  report({ ...row, peakMemoryGb: peakMemoryGb() });
});
