/** Ends the process while the engine trains and samples on SwiftShader: `ended-engine.ts MODEL_FOLDER`. */
import { createOnnxEngine } from '../../../packages/engine-onnx/src/index.js';
import { useSwiftShader } from '../../support/src/gpu/swiftshader.js';

await useSwiftShader();
const { trainer, sampler } = await createOnnxEngine({
  modelPath: process.argv[2]!,
  threads: 1,
  lora: { rank: 4, alpha: 4, seed: 1 },
  runtime: new URL('../../../packages/engine-webgpu/src/index.ts', import.meta.url).href,
});
await trainer.publish(0);
await sampler.adopt({ kind: 'published' }, 0);

async function train(): Promise<void> {
  const rows = [{ tokens: Int32Array.of(1, 2, 3, 4, 5, 6), promptLength: 3, temperature: 1 }];
  for (let version = 1; ; version++) {
    const pass = await trainer.forward({ rows });
    await trainer.backward(pass, { logprobs: pass.logprobs.map(() => 0.1) });
    await trainer.step({ learningRate: 1e-3 });
    await trainer.publish(version);
    // The kernels are compiled, and the next step has begun.
    if (version === 1) setTimeout(() => process.exit(3), 20);
  }
}

async function sample(): Promise<void> {
  for (let seed = 0; ; seed++)
    await sampler.sample(Int32Array.of(1, 2, 3), { n: 2, maxTokens: 8, seed });
}

void train();
void sample();
