/**
 * Training speed: forward and backward of the 10M model as a share of the runtime's matmul peak,
 * and peak memory.
 */
import { createOnnxEngine } from '../../packages/engine-onnx/src/engine.ts';
import { matmulPeak } from './matmul.ts';
import { peakMemoryGb, report, round, threads, time, withForeignShare } from './measure.ts';
import { benchModels, sizeOf, withModel } from './models.ts';

const [batch, length] = [16, 128];

await withModel('medium', async (modelPath) => {
  const engine = await createOnnxEngine({ modelPath, threads });
  const rows = Array.from({ length: batch }, (_, b) => ({
    // One token more than there are positions: the last token is only predicted.
    tokens: Int32Array.from(
      { length: length + 1 },
      (__, t) => (b * 31 + t * t) % benchModels.medium.vocabSize,
    ),
    promptLength: 1,
    temperature: 1,
  }));
  const row = await withForeignShare(async () => {
    const pass = await engine.trainer.forward({ rows });
    const gradients = { logprobs: pass.logprobs.map(() => -1 / pass.logprobs.length) };
    const peakBefore = await matmulPeak(threads);
    const forward = await time(() => engine.trainer.forward({ rows }), 4);
    const both = await time(() => engine.trainer.backward(pass, gradients), 12);
    const step = await time(() => engine.trainer.step({ learningRate: 1e-4 }), 2);
    const peak = Math.max(peakBefore, await matmulPeak(threads));
    // Operations per parameter and token: two in the forward pass, four in the backward pass.
    const flops = 6 * sizeOf('medium') * batch * length;
    const share = (ms: number): number => round((100 * flops) / (ms / 1000) / peak, 1);
    return {
      bench: 'training',
      model: `${round(sizeOf('medium') / 1e6, 1)}M, ${batch}x${length}`,
      threads,
      peakGflops: round(peak / 1e9, 0),
      'forward ms': round(forward.median, 0),
      'forward+backward ms': round(both.median, 0),
      'best ms': round(both.best, 0),
      'step ms': round(step.median, 0),
      'share of peak %': share(both.median),
      'best share %': share(both.best),
      tokensPerSecond: round((batch * length * 1000) / both.median, 0),
    };
  });
  await engine.close();
  report({ ...row, peakMemoryGb: peakMemoryGb() });
});
