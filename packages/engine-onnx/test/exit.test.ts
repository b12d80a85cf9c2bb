import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createModelFolder } from '../src/index.js';

const directory = mkdtempSync(path.join(tmpdir(), 'trinity-exit-'));
const script = fileURLToPath(new URL('support/exit-inside.ts', import.meta.url));
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

it('lets a process that ends while a graph runs end with its own exit code', async () => {
  const args = ['--conditions=@trinity-rft/source', `--import=${sources}`, script, directory];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += String(text)));
  const ended = await new Promise((resolve) =>
    child.once('close', (exitCode, signal) => resolve([exitCode, signal, stderr])),
  );
  expect(ended).toEqual([130, null, '']);
});
