/** A GRPO step with an adapter at the shape of SmolLM2-135M, compared with TRL with PEFT. */
import path from 'node:path';
import { ourScript, pythonScript } from '../programs.ts';
import type { Row } from '../row.ts';
import { modelFolder, shapes } from '../shapes.ts';

const shape = '135M';
const job = { tasks: 8, runs: 8, promptTokens: 44, responseTokens: 14, rank: 16 };
/**
 * Micro-batch sizes to try; the fastest one in the first repeat is used afterwards. A single micro-batch of all rows
 * takes 11 GiB and is slower.
 */
const microBatches = [8, 16, 32];

export const loraGrpoRow: Row = {
  name: 'lora-grpo-135M',
  job: `GRPO step ${job.tasks} × ${job.runs}, ${shape}, LoRA of rank ${job.rank}, prompt ${job.promptTokens}, response ${job.responseTokens}`,
  note: 'random weights; every row is trained on; the second step counts',
  prepare: async ({ cache, folder, python }) => {
    const model = await modelFolder(shape, cache);
    const all = { ...job, model, vocabSize: shapes[shape].vocabSize };
    const script = pythonScript(python, 'trl_lora.py');
    const peers = microBatches.map((microBatch) => ({
      name: `TRL, micro-batches of ${microBatch}`,
      command: () =>
        script?.(JSON.stringify({ ...all, microBatch, output: path.join(folder, 'trl') })) ?? [],
    }));
    const command = (): readonly string[] => ourScript('chat-step.ts', JSON.stringify(all));
    return { ours: { name: 'trinity', command }, peers: script ? peers : [] };
  },
};
