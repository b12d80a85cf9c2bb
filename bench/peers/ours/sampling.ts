/**
 * `sampling.ts JSON`: time per token after a prompt, and the lower bound from memory bandwidth, because
 * each token reads every weight from memory.
 */
import { createOnnxEngine } from '../../../packages/engine-onnx/src/index.ts';
import { threads } from '../../engine/measure.ts';
import { readBandwidth } from './read-bandwidth.ts';

interface Job {
  readonly model: string;
  readonly vocabSize: number;
  readonly weights: number;
  readonly batch: number;
  readonly promptTokens: number;
  readonly newTokens: number;
}

const job = JSON.parse(process.argv[2] ?? '') as Job;
const { vocabSize, weights, batch, promptTokens, newTokens } = job;
const bandwidth = await readBandwidth();
const engine = await createOnnxEngine({ modelPath: job.model, threads });
await secondsFor(2);
const cpu = process.cpuUsage();
const seconds = (await secondsFor(newTokens)) - (await secondsFor(1));
const { user, system } = process.cpuUsage(cpu);
await engine.close();
const steps = newTokens - 1;
process.stdout.write(
  `${JSON.stringify({
    seconds,
    cpuSeconds: (user + system) / 1e6,
    parts: {
      'tokens per second': (batch * steps) / seconds,
      'memory reads, GB/s': bandwidth / 1e9,
      '% of what they allow in float32': (100 * 4 * weights * steps) / seconds / bandwidth,
    },
  })}\n`,
);

async function secondsFor(maxTokens: number): Promise<number> {
  const begun = performance.now();
  const prompts = Array.from({ length: batch }, (_, row) =>
    Int32Array.from({ length: promptTokens }, (__, t) => (row * 31 + t * t + 7) % vocabSize),
  );
  await Promise.all(
    prompts.map((prompt, seed) => engine.sampler.sample(prompt, { maxTokens, seed })),
  );
  return (performance.now() - begun) / 1000;
}
