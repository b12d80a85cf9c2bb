import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createModelFolder } from '../src/index.js';

const directory = mkdtempSync(path.join(tmpdir(), 'trinity-exit-'));
const sources = new URL('../../../tools/register-source.mjs', import.meta.url).href;
beforeAll(() =>
  createModelFolder({
    directory,
    seed: 1,
    config: {
      vocabSize: 64,
      hiddenSize: 256,
      layers: 8,
      heads: 4,
      kvHeads: 4,
      headDim: 64,
      maxPositions: 512,
      eosTokenIds: [1],
    },
  }),
);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Runs a script of `support` on the model folder. Returns exit code, signal and standard error. */
function runScript(name: string, env = process.env): Promise<readonly unknown[]> {
  const script = fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));
  const args = ['--conditions=@trinity-rft/source', `--import=${sources}`, script, directory];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += String(text)));
  return new Promise((resolve) =>
    child.once('close', (exitCode, signal) => resolve([exitCode, signal, stderr])),
  );
}

it('lets a process that ends while a graph runs end with its own exit code', async () => {
  expect(await runScript('exit-inside')).toEqual([130, null, '']);
});

it.each([
  ['an engine', 'sample-once'],
  ['a session of the main thread', 'session-once'],
])('%s leaves no trace of ONNX Runtime’s telemetry in the home of the user', async (_, name) => {
  const home = mkdtempSync(path.join(tmpdir(), 'trinity-home-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  // With some of these variables, ONNX Runtime sends nothing by itself.
  const quiet = ['CI', 'ORT_DISABLE_TELEMETRY', 'ORT_RUNNING_UNIT_TESTS', 'XDG_CACHE_HOME'];
  const env = Object.entries(process.env).filter(([name]) => !quiet.includes(name));
  const ended = await runScript(name, { ...Object.fromEntries(env), HOME: home });
  expect(ended).toEqual([0, null, '']);
  expect(readdirSync(home)).toEqual([]);
});
