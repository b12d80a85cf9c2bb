/** Samples a token with the model of a folder: `sample-once.ts FOLDER`. */
import { createOnnxEngine } from '../../src/engine.js';

const engine = await createOnnxEngine({ modelPath: process.argv[2] ?? '', threads: 1 });
await engine.sampler.sample(Int32Array.of(2, 3), { maxTokens: 1, seed: 1 });
await engine.close();
