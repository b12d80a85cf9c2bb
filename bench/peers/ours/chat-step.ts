/** `chat-step.ts JSON`: a GRPO step with an adapter: sampling, advantages and a train step. */
import { algorithmPresets } from '../../../packages/algorithm/src/presets/table.ts';
import { createAlgorithm } from '../../../packages/algorithm/src/index.ts';
import {
  createExperience,
  createRuntime,
  type Experience,
} from '../../../packages/core/src/index.ts';
import { createOnnxEngine } from '../../../packages/engine-onnx/src/index.ts';
import { trainStep } from '../../../packages/trainer/src/index.ts';
import { threads } from '../../engine/measure.ts';
import { partsOf, timeSteps } from './steps.ts';

interface Job {
  readonly model: string;
  readonly vocabSize: number;
  readonly tasks: number;
  readonly runs: number;
  readonly promptTokens: number;
  readonly responseTokens: number;
  readonly rank: number;
}

const job = JSON.parse(process.argv[2] ?? '') as Job;
const { tasks, runs, promptTokens, responseTokens, rank, vocabSize } = job;
const lora = { rank, alpha: rank };
const engine = await createOnnxEngine({ modelPath: job.model, threads, lora });
const { trainer, sampler } = engine;
// The quickstart's settings: no reference model, and entropies as metrics.
const algorithm = createAlgorithm({ ...algorithmPresets.grpo, klLossFn: { name: 'none' } });
const { clock } = createRuntime();

let step = 0;
const figures = await timeSteps(async () => {
  const begun = performance.now();
  await trainer.publish(step);
  await sampler.adopt({ kind: 'published' }, step);
  const sampled = await Promise.all(Array.from({ length: tasks }, (_, task) => sample(task)));
  const sampling = (performance.now() - begun) / 1000;
  const { experiences } = algorithm.advantage!(sampled.flat());
  const lease = {
    experiences,
    metrics: {},
    acknowledge: () => Promise.resolve(),
    release: () => Promise.resolve(),
  };
  const optimizer = { learningRate: 1e-5 };
  const options = { engine: trainer, algorithm, optimizer, clock, step: ++step };
  return { sampling, ...partsOf((await trainStep(lease, options)).metrics) };
});
await engine.close();
process.stdout.write(`${JSON.stringify(figures)}\n`);

/** Samples the runs of a task. Every second run is correct, so that all rows are trained on. */
async function sample(task: number): Promise<readonly Experience[]> {
  const prompt = Int32Array.from(
    { length: promptTokens },
    (_, t) => (task * 31 + t * t + 7) % vocabSize,
  );
  const options = { n: runs, maxTokens: responseTokens, seed: step * tasks + task };
  const sequences = await sampler.sample(prompt, options);
  return sequences.map(({ tokens, logprobs, policyVersion }, run) =>
    createExperience({
      eid: { batch: step, task, run },
      tokens: [...prompt, ...tokens],
      promptLength: prompt.length,
      logprobs,
      policyVersion,
      temperature: 1,
      reward: run % 2,
    }),
  );
}
