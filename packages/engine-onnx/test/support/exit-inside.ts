/** Ends its process while the runtime computes. */
import { createOnnxEngine } from '../../src/engine.js';

const [modelPath = ''] = process.argv.slice(2);
const engine = await createOnnxEngine({ modelPath, threads: 1 });
const row = {
  tokens: Int32Array.from({ length: 500 }, (_, i) => i % 60),
  promptLength: 1,
  temperature: 1,
};
void engine.trainer.forward({ rows: Array.from({ length: 8 }, () => row) });
process.stdout.write('computing\n');
setTimeout(() => process.exit(130), 150);
