/**
 * `pnpm bench gpu [--python PATH] [--layers N] [--hidden N] [--tokens N] [--report FILE]`: tests
 * training on one GPU from scratch: creates a random bfloat16 model, starts TuFT, probes its optimizer
 * as a run does, and trains ten steps that memorise a text. Without a GPU everything runs on the CPU.
 * `--python` names a Python with TuFT 0.2.2; otherwise TuFT is installed into the cache. If no registry
 * is reachable, first run `pip install --no-index --find-links WHEELS tuft==0.2.2` in that Python.
 * Exits with 1 if a probe refuses the server, or the loss does not fall.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createRandom, silentLogger } from '../packages/core/src/index.ts';
import { createModel } from '../packages/launcher/src/index.ts';
import { halfPrecision } from '../packages/launcher/test/support/half-precision.ts';
import { findTuft, startTuft, tuftKey } from '../packages/launcher/test/support/tuft.ts';
import { createTinkerEngine } from '../packages/tinker/src/index.ts';

const { values: given } = parseArgs({
  options: {
    python: { type: 'string' },
    layers: { type: 'string', default: '4' },
    hidden: { type: 'string', default: '256' },
    tokens: { type: 'string', default: '1024' },
    report: { type: 'string' },
  },
});
const [layers = 0, hidden = 0, tokens = 0] = [given.layers, given.hidden, given.tokens].map(Number);
const [steps, rows, rank] = [10, 8, 16];
const root = mkdtempSync(path.join(tmpdir(), 'trinity-gpu-'));
const report: Record<string, unknown> = { layers, hidden, tokens, rows, rank };

/** A field of the first GPU from `nvidia-smi`, memory in MiB; undefined without a GPU. */
function gpu(field: 'name' | 'memory.used' | 'memory.total'): string | undefined {
  try {
    const args = [`--query-gpu=${field}`, '--format=csv,noheader,nounits'];
    return execFileSync('nvidia-smi', args, { encoding: 'utf8' }).split('\n')[0]?.trim();
  } catch {
    return undefined;
  }
}

async function python(): Promise<string> {
  if (given.python !== undefined) return given.python;
  const found = await findTuft();
  if ('missing' in found) throw new Error(found.missing);
  return found.python;
}

async function train(url: string, modelPath: string): Promise<void> {
  const said: string[] = [];
  const tell = (text: string): void => void said.push(text);
  const opening = performance.now();
  const engine = await createTinkerEngine({
    ...{ modelPath, baseUrl: url, apiKey: tuftKey, rank, samples: false, trainUnembed: false },
    optimizer: { learningRate: 1e-5, betas: [0.9, 0.999] },
    logger: { ...silentLogger, debug: tell, info: tell, warn: tell },
  });
  report['probes'] = { seconds: seconds(opening), said };
  const random = createRandom(1);
  const batch = {
    rows: Array.from({ length: rows }, () => ({
      tokens: Int32Array.from({ length: tokens }, () => random.integer(14)),
      promptLength: 1,
      temperature: 1,
    })),
  };
  const losses: number[] = [];
  const times: number[] = [];
  let peak = 0;
  try {
    for (let step = 1; step <= steps; step++) {
      const started = performance.now();
      const pass = await engine.trainer.forward(batch);
      const weight = 1 / pass.logprobs.length;
      await engine.trainer.backward(pass, { logprobs: pass.logprobs.map(() => -weight) });
      await engine.trainer.step({ learningRate: 1e-3, weightDecay: 0 });
      losses.push(-pass.logprobs.reduce((sum, value) => sum + value * weight, 0));
      times.push(seconds(started));
      peak = Math.max(peak, Number(gpu('memory.used') ?? 0));
      console.log(`step ${step}/${steps}  loss ${losses.at(-1)?.toFixed(4)}  ${times.at(-1)} s`);
    }
  } finally {
    await engine.close();
  }
  const median = times.toSorted((a, b) => a - b)[steps / 2] ?? 0;
  report['steps'] = {
    losses,
    seconds: times,
    tokensPerSecond: Math.round((rows * tokens) / median),
  };
  report['gpuMemoryMiB'] = peak || undefined;
  if (!((losses.at(-1) ?? NaN) < (losses[0] ?? NaN))) process.exitCode = 1;
}

const seconds = (since: number): number => Math.round(performance.now() - since) / 1000;

try {
  report['gpu'] = gpu('name') ?? 'none: the processor';
  const tokenizer = { characters: '0123456789+=\n' };
  const heads = { heads: hidden / 64, kvHeads: Math.max(1, hidden / 128), headDim: 64 };
  const config = { hiddenSize: hidden, layers, ...heads, maxPositions: tokens + 1 };
  await createModel({ directory: path.join(root, 'model'), tokenizer, seed: 1, config });
  const model = halfPrecision(path.join(root, 'model'), path.join(root, 'half'));
  const started = performance.now();
  const server = await startTuft({
    ...{ python: await python(), models: { half: model }, directory: path.join(root, 'tuft') },
    maxModelLen: tokens + 1,
  });
  report['serverSeconds'] = seconds(started);
  try {
    await train(server.url, model);
  } finally {
    await server.stop();
  }
} catch (error) {
  report['error'] = String(error);
  process.exitCode = 1;
} finally {
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
}
const text = JSON.stringify(report, null, 2);
console.log(text);
if (given.report !== undefined) writeFileSync(given.report, `${text}\n`);
