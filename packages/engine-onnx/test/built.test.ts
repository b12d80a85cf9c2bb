/** Tests the published package: one bundle and a file for its worker, in plain Node. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { build, type Options } from 'tsup';
import { afterAll, expect, it } from 'vitest';

import config from '../tsup.config.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
// Inside the package, so that the runtime's native module is found as it would be from `dist`.
const folder = mkdtempSync(join(root, 'node_modules', '.built-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const script = `
import { createModelFolder, createOnnxCritic, createOnnxEngine } from './dist/index.js';
await createModelFolder({ directory: './model', seed: 1, config: { vocabSize: 16, hiddenSize: 512, layers: 1, heads: 2 } });
const engine = await createOnnxEngine({ modelPath: './model', threads: 2 });
const [sequence] = await engine.sampler.sample(Int32Array.of(1, 2), { maxTokens: 3, seed: 1 });
const pass = await engine.trainer.forward({ rows: [{ tokens: Int32Array.of(1, 2, ...sequence.tokens), promptLength: 2, temperature: 1 }] });
await engine.trainer.backward(pass, { logprobs: pass.logprobs });
// So many weights that several threads update them.
const { gradNorm } = await engine.trainer.step({ learningRate: 1e-3 });
const critic = await createOnnxCritic({ modelPath: './model', threads: 1 });
const { values } = await critic.forward(pass.batch);
await critic.close();
await engine.close();
console.log(JSON.stringify([[...sequence.logprobs], [...pass.logprobs], [...values], gradNorm]));
`;

it(
  'runs from its build, the worker threads included, and ends by itself after close',
  { timeout: 240_000 },
  async () => {
    const options = config as Options;
    const entry = Object.entries(options.entry as Record<string, string>).map(([name, file]) => [
      name,
      join(root, file),
    ]);
    await build({
      ...options,
      entry: Object.fromEntries(entry) as Record<string, string>,
      config: false,
      silent: true,
      dts: false,
      sourcemap: false,
      outDir: join(folder, 'dist'),
      external: ['onnxruntime-node', 'protobufjs', 'zod'],
      // Our other packages need not be built for this.
      noExternal: [/^@trinity-rft\//],
      esbuildOptions: (esbuild) => void (esbuild.conditions = ['@trinity-rft/source']),
    });
    expect(readdirSync(join(folder, 'dist'))).toEqual(
      expect.arrayContaining(['index.js', 'update-thread.js', 'worker.js']),
    );
    writeFileSync(join(folder, 'run.mjs'), script);
    const { stdout, stderr, status } = spawnSync(process.execPath, ['run.mjs'], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env['PATH'] },
      timeout: 120_000,
      killSignal: 'SIGKILL',
    });
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
    const [sampled, scored, values, gradNorm] = JSON.parse(stdout) as [
      number[],
      number[],
      number[],
      number,
    ];
    expect(gradNorm).toBeGreaterThan(0);
    expect(sampled).toHaveLength(3);
    expect(values).toEqual([0, 0, 0]);
    sampled.forEach((logprob, i) =>
      expect(Math.abs(logprob - scored[i]!)).toBeLessThanOrEqual(1e-5),
    );
  },
);
