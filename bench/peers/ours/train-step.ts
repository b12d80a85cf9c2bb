/** `train-step.ts JSON`: a supervised train step over dense rows. */
import { algorithmPresets } from '../../../packages/algorithm/src/presets/table.ts';
import { createAlgorithm } from '../../../packages/algorithm/src/index.ts';
import { createExperience, createRuntime } from '../../../packages/core/src/index.ts';
import { createOnnxEngine } from '../../../packages/engine-onnx/src/index.ts';
import { trainStep } from '../../../packages/trainer/src/index.ts';
import { threads } from '../../engine/measure.ts';
import { partsOf, timeSteps } from './steps.ts';

interface Job {
  readonly model: string;
  readonly vocabSize: number;
  readonly rows: number;
  readonly length: number;
  readonly rank?: number;
}

const { model, vocabSize, rows, length, rank } = JSON.parse(process.argv[2] ?? '') as Job;
const engine = await createOnnxEngine({
  modelPath: model,
  threads,
  lora: rank === undefined ? undefined : { rank, alpha: rank },
});
const algorithm = createAlgorithm(algorithmPresets.sft);
const { clock } = createRuntime();
// One token more than there are positions: the last token is only predicted.
const experiences = Array.from({ length: rows }, (_, row) =>
  createExperience({
    eid: { task: row },
    tokens: Array.from({ length: length + 1 }, (__, t) => (row * 7919 + t * t * 31) % vocabSize),
    promptLength: 1,
  }),
);
const lease = {
  experiences,
  metrics: {},
  acknowledge: () => Promise.resolve(),
  release: () => Promise.resolve(),
};
let step = 0;
const figures = await timeSteps(async () => {
  const optimizer = { learningRate: 1e-5 };
  const options = { engine: engine.trainer, algorithm, optimizer, clock, step: ++step };
  return partsOf((await trainStep(lease, options)).metrics);
});
await engine.close();
const perToken = (figures.seconds ?? NaN) / (rows * length);
const parts = { ...figures.parts, 'µs per token': 1e6 * perToken };
process.stdout.write(`${JSON.stringify({ ...figures, parts })}\n`);
