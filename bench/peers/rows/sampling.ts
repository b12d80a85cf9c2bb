/** Sampling at the shape of Qwen2.5-0.5B, compared with the generate method of transformers. */
import { ourScript, pythonScript } from '../programs.ts';
import type { Row } from '../row.ts';
import { modelFolder, shapes, weightsOf } from '../shapes.ts';

const shape = '0.5B';
const [promptTokens, newTokens] = [32, 33];

export const samplingRows: readonly Row[] = [1, 8].map((batch) => ({
  name: `sampling-${batch}`,
  job: `sampling ${newTokens - 1} tokens after a prompt of ${promptTokens}, ${shape}, batch ${batch}`,
  note: 'random weights; without the prompt and the first token',
  prepare: async ({ cache, python }) => {
    const model = await modelFolder(shape, cache);
    const { vocabSize } = shapes[shape];
    const weights = weightsOf(shape);
    const job = JSON.stringify({ model, vocabSize, weights, batch, promptTokens, newTokens });
    const script = pythonScript(python, 'sampling.py');
    return {
      ours: { name: 'trinity', command: () => ourScript('sampling.ts', job) },
      peers: script ? [{ name: 'transformers', command: () => script(job) }] : [],
    };
  },
}));
