/**
 * A train step over dense rows for models from 0.1 million to 1.5 billion weights, with all weights
 * trained and with an adapter. Shows the cost per token by model size.
 */
import { ourScript, pythonScript } from '../programs.ts';
import type { Row } from '../row.ts';
import { modelFolder, shapes, type ShapeName } from '../shapes.ts';

interface Job {
  readonly shape: ShapeName;
  readonly rows: number;
  readonly length: number;
  /** Rank of the adapter. @default all weights are trained */
  readonly rank?: number;
  readonly repeats?: number;
  /**
   * True to run without a peer, because the peer needs more memory than the reference machine has.
   */
  readonly alone?: boolean;
}

const jobs: readonly Job[] = [
  { shape: '0.1M', rows: 64, length: 32 },
  { shape: '0.8M', rows: 64, length: 64 },
  { shape: '6M', rows: 64, length: 32 },
  { shape: '10M', rows: 16, length: 128 },
  { shape: '35M', rows: 16, length: 128 },
  { shape: '135M', rows: 8, length: 256 },
  { shape: '0.5B', rows: 8, length: 256 },
  { shape: '0.5B', rows: 8, length: 256, rank: 16 },
  { shape: '1.5B', rows: 8, length: 256, rank: 16, repeats: 1, alone: true },
];

export const trainStepRows: readonly Row[] = jobs.map(toRow);

function toRow({ shape, rows, length, rank, repeats, alone }: Job): Row {
  const trained = rank === undefined ? 'all weights' : `LoRA of rank ${rank}`;
  return {
    name: `${rank === undefined ? 'train' : 'lora'}-${shape}`,
    job: `train step ${rows} × ${length}, ${shape}, ${trained}`,
    note: 'random weights; the second step counts',
    repeats,
    prepare: async ({ cache, python }) => {
      const model = await modelFolder(shape, cache);
      const { vocabSize } = shapes[shape];
      const job = JSON.stringify({ model, vocabSize, rows, length, rank });
      const script = alone ? undefined : pythonScript(python, 'train_step.py');
      const name = rank === undefined ? 'transformers' : 'PEFT';
      return {
        ours: { name: 'trinity', command: () => ourScript('train-step.ts', job) },
        peers: script ? [{ name, command: () => script(job) }] : [],
      };
    },
  };
}
