/** `step.ts NAME`: measures one size and prints a line of JSON. */
import { mkdtemp, rm } from 'node:fs/promises';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createOnnxEngine } from '../../packages/engine-onnx/src/index.ts';
import { silentLogger } from '../../packages/core/src/index.ts';
import type { Engine, SampledSequence } from '../../packages/core/src/engine-seam.ts';
import { peakMemoryGb, report, round, threads, withForeignShare } from '../engine/measure.ts';
import { sizes, type Size } from './shapes.ts';

/** Results, in seconds unless the name says otherwise. */
export interface Measured {
  readonly name: string;
  readonly millions: number;
  readonly rank: number | undefined;
  readonly rows: number;
  readonly prompt: number;
  readonly response: number;
  readonly sampling: number;
  readonly forward: number;
  readonly backward: number;
  readonly update: number;
  readonly cpuSeconds: number;
  readonly memoryGb: number;
  readonly foreignCpuPercent: number;
}

const groupSize = 8;
/** Models below this size, in millions of weights, run a warm-up step first. */
const warmUpBelow = 20;

const size = sizes.find(({ name }) => name === process.argv[2]);
if (!size) throw new Error(`expected one of ${sizes.map(({ name }) => name).join(', ')}`);
const root = await mkdtemp(join(tmpdir(), 'trinity-sizes-'));
try {
  const modelPath = join(root, 'model');
  makeFolder(size.name, modelPath);
  report({ ...(await measure(size, modelPath)) });
} finally {
  await rm(root, { recursive: true, force: true });
}

/** Creates the folder in a separate process, so that its memory is not counted as the engine's. */
function makeFolder(name: string, directory: string): void {
  const script = fileURLToPath(new URL('./make-folder.ts', import.meta.url));
  spawnSync(process.execPath, [...process.execArgv, script, name, directory], { stdio: 'inherit' });
}

async function measure(size: Size, modelPath: string): Promise<Measured> {
  const { name, lora, rows, prompt, response } = size;
  let millions = 0;
  const engine = await createOnnxEngine({
    modelPath,
    threads,
    lora,
    logger: {
      ...silentLogger,
      info: (_, fields) => void (millions = Number(fields?.['parameters'] ?? 0) / 1e6),
    },
  });
  if (millions < warmUpBelow) await step(engine, size, 0);
  const before = process.cpuUsage();
  const { foreignCpuPercent, ...times } = await withForeignShare(() => step(engine, size, 1));
  const { user, system } = process.cpuUsage(before);
  await engine.close();
  const cpuSeconds = round((user + system) / 1e6, 2);
  const shape = { name, millions: round(millions, 2), rank: rankOf(lora), rows, prompt, response };
  return { ...shape, ...times, cpuSeconds, memoryGb: peakMemoryGb(), foreignCpuPercent };
}

function rankOf(lora: Size['lora']): number | undefined {
  return lora && 'rank' in lora ? lora.rank : undefined;
}

type Times = Pick<Measured, 'sampling' | 'forward' | 'backward' | 'update'>;

/**
 * One step: eight runs of each prompt, a forward pass over them, their gradients, and the optimizer.
 */
async function step(engine: Engine, size: Size, version: number): Promise<Times> {
  const { trainer, sampler } = engine;
  await trainer.publish(version);
  await sampler.adopt({ kind: 'published' }, version);
  const [sampling, samples] = await timed(() => sampleAll(engine, size, version));
  const rows = samples.map(({ prompt, tokens }) => ({
    tokens: Int32Array.from([...prompt, ...tokens]),
    promptLength: prompt.length,
    temperature: 1,
  }));
  const [forward, pass] = await timed(() => trainer.forward({ rows }));
  const logprobs = pass.logprobs.map((_, i) => (i % 2 === 0 ? 1 : -1) / pass.logprobs.length);
  const [backward] = await timed(() => trainer.backward(pass, { logprobs }));
  const [update] = await timed(() => trainer.step({ learningRate: 1e-5 }));
  return { sampling, forward, backward, update };
}

async function sampleAll(
  { sampler }: Engine,
  { rows, prompt: length, response, config }: Size,
  seed: number,
): Promise<readonly (SampledSequence & { readonly prompt: Int32Array })[]> {
  const groups = Array.from({ length: rows / groupSize }, async (_, group) => {
    const prompt = Int32Array.from(
      { length },
      (__, i) => (group * 31 + i * i + 7) % config.vocabSize,
    );
    const options = { n: groupSize, maxTokens: response, seed: seed * rows + group };
    const sampled = await sampler.sample(prompt, options);
    return sampled.map((sequence) => ({ ...sequence, prompt }));
  });
  return (await Promise.all(groups)).flat();
}

async function timed<T>(work: () => Promise<T>): Promise<readonly [seconds: number, result: T]> {
  const start = performance.now();
  const result = await work();
  return [round((performance.now() - start) / 1000, 3), result];
}
